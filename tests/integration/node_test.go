package integration

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a node that runs pods of Echoes", func() {
	It("causes one event for each Echo when it becomes unschedulable, and one when it recovers", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		node := newNode(ctx, k8s)
		one, other := createOn(ctx, support.Echo(namespace, "one"), node), createOn(ctx, support.Echo(namespace, "other"), node)
		elsewhere := createOn(ctx, support.Echo(namespace, "elsewhere"), newNode(ctx, k8s))

		cordon(ctx, node, true)
		for _, echo := range []*v1.Echo{one, other} {
			expectNodeEvents(ctx, echo,
				`NodeProblem Node "`+node.Name+`", which runs 2 pods of this Echo, has a problem: The node is marked unschedulable.`)
			Expect(echoNow(ctx, Default, namespace, echo.Name).Status.NodeProblems).To(Equal([]v1.EchoNodeProblems{{Name: node.Name, Problems: []string{"Unschedulable"}}}))
			expectPhase(ctx, echo, v1.PhaseReady)
		}
		cordon(ctx, node, false)
		for _, echo := range []*v1.Echo{one, other} {
			expectNodeEvents(ctx, echo, "NodeProblem *", `NodeRecovered Node "`+node.Name+`" has recovered.`)
			Expect(echoNow(ctx, Default, namespace, echo.Name).Status.NodeProblems).To(BeEmpty())
			expectNoWrite(ctx, echo)
		}
		expectNodeEvents(ctx, elsewhere)
	})
})

// createOn creates a Ready Echo whose two pods run on a node.
func createOn(ctx context.Context, echo *v1.Echo, node *corev1.Node) *v1.Echo {
	GinkgoHelper()
	createEcho(ctx, echo)
	for _, suffix := range []string{"-1", "-2"} {
		pod := createPod(ctx, echo, echo.Name+suffix)
		bind(ctx, k8s, pod, node)
		setPodStatus(ctx, pod,
			corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}})
	}
	rollOut(ctx, echo.Namespace, echo.Name)
	support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Pods", HaveKeyWithValue("Ready", HaveLen(2))))
	return echoNow(ctx, Default, echo.Namespace, echo.Name)
}

func cordon(ctx context.Context, node *corev1.Node, unschedulable bool) {
	GinkgoHelper()
	edit(ctx, node, func(n *corev1.Node) { n.Spec.Unschedulable = unschedulable })
}

// expectNodeEvents expects exactly these node events of an Echo, each given as a reason and a note. A final * matches the rest of a note.
func expectNodeEvents(ctx context.Context, echo *v1.Echo, want ...string) {
	GinkgoHelper()
	events := func(g Gomega) []string {
		var events []string
		for _, e := range support.EventsOf(ctx, g, k8s, echo) {
			if strings.HasPrefix(e.Reason, "Node") {
				events = append(events, e.Reason+" "+e.Note)
				g.Expect(e.Series).To(BeNil(), e.Note)
			}
		}
		return events
	}
	Eventually(events).WithContext(ctx).Should(ConsistOf(support.Notes(want...)...))
	Consistently(events).WithContext(ctx).Should(ConsistOf(support.Notes(want...)...))
}
