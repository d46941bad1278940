package e2e

import (
	"context"
	"fmt"
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

// explained is an Echo that something is wrong with, and what its status says then.
type explained struct {
	name string
	// objects are created before the Echo, with kubectl, in its namespace.
	objects string
	change  func(*v1.EchoSpec)
	// after is done with the Echo, nil if nothing is.
	after func(context.Context, *v1.Echo)
	// condition has the reason.
	condition string
	reason    v1.Reason
	// message is a regular expression: the cause, and then the remedy.
	message string
}

var _ = Describe("the message of an Echo", func() {
	It("leads with the cause, says what to do, and fits on the first screen, whatever is wrong", func(ctx SpecContext) {
		all := slices.Concat(podMessages(), admissionMessages(), specMessages(), pathMessages())
		var echoes []*v1.Echo
		for _, c := range all {
			echoes = append(echoes, createExplained(ctx, c))
		}
		var table []string
		for i, c := range all {
			expectExplained(ctx, c, echoes[i])
			table = append(table, rowOf(c, echoes[i]))
		}
		AddReportEntry("messages", ReportEntryVisibilityAlways, strings.Join(table, "\n"))
	}, SpecTimeout(20*time.Minute))
})

// createExplained creates the Echo of a case in a namespace of its own.
func createExplained(ctx context.Context, c explained) *v1.Echo {
	GinkgoHelper()
	namespace := namespaces.New(ctx)
	realcluster.Kubectl(ctx, "label", "namespace", namespace, "e2e-case="+namespace)
	if c.objects != "" {
		DeferCleanup(realcluster.Kubectl, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding,validatingwebhookconfiguration",
			namespace, "--ignore-not-found", NodeTimeout(2*time.Minute))
		realcluster.KubectlInput(ctx, strings.ReplaceAll(c.objects, "NAMESPACE", namespace), "apply", "-f", "-")
	}
	echo := support.Echo(namespace, "explained", func(e *v1.Echo) {
		e.Spec.Replicas = new(int32(1))
		c.change(&e.Spec)
		for i := range e.Spec.Checks {
			e.Spec.Checks[i].URL = strings.ReplaceAll(e.Spec.Checks[i].URL, "NAMESPACE", namespace)
		}
	})
	Eventually(func() error { // a policy may not be enforced yet
		err := k8s.Create(ctx, echo)
		return client.IgnoreAlreadyExists(err)
	}).WithContext(ctx).Should(Succeed())
	if c.after != nil {
		c.after(ctx, echo)
	}
	return echo
}

// expectExplained waits until the status of an Echo explains what is wrong.
func expectExplained(ctx context.Context, c explained, echo *v1.Echo) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		condition := meta.FindStatusCondition(echo.Status.Conditions, c.condition)
		g.Expect(condition).NotTo(BeNil(), c.name)
		g.Expect(condition.Reason).To(Equal(c.reason.String()), "%s: %s", c.name, echo.Status.Message)
		g.Expect(echo.Status.Message).To(MatchRegexp("(?s)^"+c.message), c.name)
		g.Expect(len(echo.Status.Message)).To(BeNumerically("<=", 300), c.name)
		g.Expect(echo.Status.Message).NotTo(ContainSubstring(`\`), c.name)
	}).WithContext(ctx).WithTimeout(5 * time.Minute).Should(Succeed())
}

// rowOf returns what the status of an Echo says, as a row of a table.
func rowOf(c explained, echo *v1.Echo) string {
	var differing []string
	for _, condition := range echo.Status.Conditions {
		if condition.Status == metav1.ConditionTrue || condition.Type == v1.ConditionReady || condition.Type == v1.ConditionPathsHealthy {
			differing = append(differing, fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
	}
	return fmt.Sprintf("| %s | %d | %s | %s |", c.name, len(echo.Status.Message), echo.Status.Message, strings.Join(differing, " // "))
}
