package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// explained is a test case: an Echo with a problem, and the status that the Echo must report.
type explained struct {
	name string
	// objects contains manifests for kubectl. The test creates these objects before the Echo, in the Echo's namespace.
	objects string
	// change, if set, changes the spec.
	change func(*v1.EchoSpec)
	// after, if set, is called after the Echo is created.
	after func(context.Context, *v1.Echo)
	// reason is the reason of the Ready condition.
	reason v1.Reason
	// message is a regular expression that matches the cause and the remedy that follows it.
	message string
}

var _ = Describe("the message of an Echo", func() {
	It("begins with the cause, explains what to do, and fits on the first screen, for every problem", func(ctx SpecContext) {
		all := slices.Concat(podMessages(), admissionMessages(), pathMessages())
		var echoes []*v1.Echo
		for _, c := range all {
			echoes = append(echoes, createExplained(ctx, c))
		}
		Eventually(func(g Gomega) []string { return unexplained(ctx, g, all, echoes) }).
			WithContext(ctx).WithTimeout(10 * time.Minute).WithPolling(2 * time.Second).Should(BeEmpty())
		var table []string
		for i, c := range all {
			table = append(table, rowOf(c, echoes[i]))
		}
		AddReportEntry("messages", ReportEntryVisibilityAlways, strings.Join(table, "\n"))
	}, SpecTimeout(20*time.Minute))
})

// createExplained creates the Echo of a test case in a new namespace.
func createExplained(ctx context.Context, c explained) *v1.Echo {
	GinkgoHelper()
	namespace := namespaces.New(ctx)
	if c.objects != "" {
		realcluster.KubectlInput(ctx, strings.ReplaceAll(c.objects, "NAMESPACE", namespace), "apply", "-f", "-")
	}
	echo := support.Echo(namespace, "explained", func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(1))
		if c.change != nil {
			c.change(&e.Spec)
		}
		for i := range e.Spec.Checks {
			e.Spec.Checks[i].URL = strings.ReplaceAll(e.Spec.Checks[i].URL, "NAMESPACE", namespace)
		}
	})
	Expect(k8s.Create(ctx, echo)).To(Succeed())
	if c.after != nil {
		c.after(ctx, echo)
	}
	return echo
}

// unexplained returns the condition and the message of each Echo whose status does not explain the problem as expected.
func unexplained(ctx context.Context, g Gomega, cases []explained, echoes []*v1.Echo) []string {
	var wrong []string
	for i, c := range cases {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echoes[i]), echoes[i])).To(Succeed())
		status := &echoes[i].Status
		condition := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
		if condition == nil || condition.Reason != c.reason.String() || !regexp.MustCompile("(?s)^"+c.message).MatchString(status.Message) ||
			len(status.Message) > 300 || strings.Contains(status.Message, `\`) {
			wrong = append(wrong, fmt.Sprintf("%s: %+v, %s", c.name, condition, status.Message))
		}
	}
	return wrong
}

// rowOf formats an Echo's status as a table row.
func rowOf(c explained, echo *v1.Echo) string {
	var differing []string
	for _, condition := range echo.Status.Conditions {
		if condition.Status == metav1.ConditionTrue || condition.Type == v1.ConditionReady || condition.Type == v1.ConditionPathsHealthy {
			differing = append(differing, fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
	}
	return fmt.Sprintf("| %s | %d | %s | %s |", c.name, len(echo.Status.Message), echo.Status.Message, strings.Join(differing, " // "))
}
