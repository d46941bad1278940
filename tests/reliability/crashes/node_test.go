package crashes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a node is stopped and started again", func() {
	// The operator, all echo servers, and the prober stop with the node, so that nothing responds until the node is back.
	It("with everything that runs on it", func(ctx SpecContext) {
		s := newStage(ctx)
		s.await(ctx, 10)
		killCluster(ctx, "node")
		s.await(ctx, 10)
		cluster(ctx, "revive", "node")
		s.await(ctx, 10)
		s.verify(ctx)
		Expect(s.steadyPods(ctx, Default)).To(Equal(s.pods), "the pods must be restarted instead of replaced")
	}, SpecTimeout(specTimeout))

	It("while the operator and other nodes continue to run", func(ctx SpecContext) {
		kubelet := realcluster.StartHollowKubelet(ctx)
		s := newStage(ctx).probe(ctx)
		node := realcluster.CreateHollowNode(ctx, k8s, "away")
		away := support.Echo(s.namespace, "away", realcluster.OnHollowNode("away"))
		Expect(k8s.Create(ctx, away)).To(Succeed())
		eventually := func(phase string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(away), away)).To(Succeed())
				g.Expect(away.Status.Phase).To(Equal(phase))
			}).WithContext(ctx).Should(Succeed())
		}
		eventually(v1.PhaseReady)
		crash("stopping the node")
		kubelet.Kill().Wait()
		eventually(v1.PhaseWarning)
		Expect(away.Status.NodeProblems).To(HaveKey(node))

		leader, _ := awaitLeader(ctx)
		kill(ctx, leader)
		dropLease(ctx)
		s.await(ctx, 10)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(away), away)).To(Succeed())
		Expect(away.Status.NodeProblems).To(HaveKey(node))
		realcluster.StartHollowKubelet(ctx)
		realcluster.Kubectl(ctx, "wait", "--for=condition=Ready", "node/"+node, waitTimeout)
		setPodsReady(ctx, away)
		eventually(v1.PhaseReady)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))
})

// setPodsReady marks pods as ready again after Kubernetes marked them as not ready while their node was stopped. A kubelet would do this,
// but kwok does not.
func setPodsReady(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(k8s.List(ctx, pods, client.InNamespace(echo.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": echo.Name})).To(
		Succeed())
	for i := range pods.Items {
		before := pods.Items[i].DeepCopy()
		for j := range pods.Items[i].Status.Conditions {
			pods.Items[i].Status.Conditions[j].Status = corev1.ConditionTrue
		}
		Expect(k8s.Status().Patch(ctx, &pods.Items[i], client.MergeFrom(before))).To(Succeed())
	}
}
