package e2e

import (
	"context"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a node that runs pods of an Echo", func() {
	It("is reported when it is lost, and when it is deleted", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		kubelet := realcluster.StartHollowKubelet(ctx)
		node := realcluster.CreateHollowNode(ctx, k8s, namespace)
		there := realcluster.OnHollowNode(namespace)
		one, other := support.Echo(namespace, "one", there), support.Echo(namespace, "other", there)
		here := support.Echo(namespace, "here")
		for _, echo := range []*v1.Echo{one, other, here} {
			createReady(ctx, echo)
		}

		By("losing it")
		kubelet.Kill().Wait()
		lost := `NodeProblem Node "` + node +
			`", which runs 2 pods of this Echo, has a problem: Ready is Unknown*`
		for _, echo := range []*v1.Echo{one, other} {
			eventuallyTold(ctx, echo, lost)
			expectNotReady(ctx, echo, v1.ReasonNodeProblem, "runs on node "+node+", which has a problem: \"Ready is Unknown")
			eventuallyNodeProblems(ctx, echo, v1.EchoNodeProblems{Name: node, Problems: []string{"NotReady"}})
		}

		By("deleting the node together with its pods")
		Expect(k8s.Delete(ctx, &corev1.Node{Name: node})).To(Succeed())
		for _, echo := range []*v1.Echo{one, other} {
			eventuallyTold(ctx, echo, lost,
				`NodeProblem Node "`+node+`", which runs 2 pods of this Echo, has a problem: The node was deleted.`,
				`NodeRecovered Node "`+node+`" no longer runs pods of this Echo.`)
			expectNotReady(ctx, echo, v1.ReasonUnschedulable, "didn't match Pod's node affinity/selector")
			eventuallyNodeProblems(ctx, echo)
		}
		waitReady(ctx, here)
		expectTold(ctx, Default, here)
	}, SpecTimeout(20*time.Minute))
})

var _ = Describe("the two pods of an Echo on two nodes without zones", func() {
	It("are on different nodes after a rollout", func(ctx SpecContext) {
		const rollouts = 20
		namespace := namespaces.New(ctx)
		realcluster.StartHollowKubelet(ctx)
		for range 2 {
			realcluster.CreateHollowNode(ctx, k8s, namespace)
		}
		echo := support.Echo(namespace, "spread", realcluster.OnHollowNode(namespace), func(e *v1.Echo) { e.Spec.Replicas = new(int32(2)) })
		createReady(ctx, echo)
		apart := 0
		for i := range rollouts {
			edit(ctx, echo, func(s *v1.EchoSpec) { s.PodAnnotations = map[string]string{"example.org/rollout": strconv.Itoa(i)} })
			waitReady(ctx, echo)
			nodes := map[string]bool{}
			for _, pod := range pods(ctx, Default, echo) {
				if pod.Annotations["example.org/rollout"] == strconv.Itoa(i) {
					nodes[pod.Spec.NodeName] = true
				}
			}
			if len(nodes) == 2 {
				apart++
			}
		}
		AddReportEntry("rollouts after which the pods are on two nodes", ReportEntryVisibilityAlways, strconv.Itoa(apart))
		Expect(apart).To(BeNumerically(">=", rollouts-1))
	}, SpecTimeout(10*time.Minute))
})

// expectNotReady waits until an Echo's phase is Warning, its Ready condition is False for the reason, and its message contains the text.
func expectNotReady(ctx context.Context, echo *v1.Echo, reason v1.Reason, message string) {
	GinkgoHelper()
	support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status", And(HaveField("Phase", v1.PhaseWarning),
		HaveField("Message", ContainSubstring(message)), HaveField("Conditions", ContainElement(And(HaveField("Type", v1.ConditionReady),
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason.String())))))))
}

// eventuallyNodeProblems waits until an Echo's status reports exactly the given problems.
func eventuallyNodeProblems(ctx context.Context, echo *v1.Echo, want ...v1.EchoNodeProblems) {
	GinkgoHelper()
	support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.NodeProblems", want))
}

// eventuallyTold waits until an Echo has the given node events, and expects that no more follow. A final * matches the rest of a note.
func eventuallyTold(ctx context.Context, echo *v1.Echo, want ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) { expectTold(ctx, g, echo, want...) }, 4*time.Minute).WithContext(ctx).Should(Succeed())
	Consistently(func(g Gomega) { expectTold(ctx, g, echo, want...) }).WithContext(ctx).Should(Succeed())
}

// expectTold expects that an Echo has exactly the given node events, each once, in any order.
func expectTold(ctx context.Context, g Gomega, echo *v1.Echo, want ...string) {
	told := []string{}
	for _, e := range support.EventsOf(ctx, g, k8s, echo) {
		if e.Reason == "NodeProblem" || e.Reason == "NodeRecovered" {
			told = append(told, e.Reason+" "+e.Note)
			g.Expect(e.Series).To(BeNil(), e.Note)
		}
	}
	g.Expect(told).To(ConsistOf(support.Notes(want...)...))
}
