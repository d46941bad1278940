package crashes

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const crd = "crd/echoes.example.com"

var _ = Describe("the CustomResourceDefinition is deleted and installed again", func() {
	// Deleting the CustomResourceDefinition also deletes the Echoes, including the steady Echo.
	It("while the operator runs and restarts", func(ctx SpecContext) {
		s := newStage(ctx)
		s.await(ctx, 15)
		crash("deleting the CustomResourceDefinition")
		realcluster.Kubectl(ctx, "delete", crd, waitTimeout)
		s.end()
		s.eventuallyNothing(ctx)
		leader, _ := awaitLeader(ctx)
		kill(ctx, leader)
		dropLease(ctx)
		expectRestart(ctx, leader)
		s.createAgain(ctx)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))

	It("while the operator is stopped", func(ctx SpecContext) {
		s := newStage(ctx)
		s.await(ctx, 15)
		stopOperator(ctx)
		crash("deleting the CustomResourceDefinition")
		realcluster.Kubectl(ctx, "delete", crd, "--wait=false")
		s.end()
		Expect(s.steadyPods(ctx, Default)).To(Equal(s.pods), "while the operator cannot delete them in order")
		realcluster.Kubectl(ctx, "scale", "deployment", "-n", operatorNamespace, operatorDeployment, "--replicas=2")
		realcluster.Kubectl(ctx, "wait", "--for=delete", crd, waitTimeout)
		s.eventuallyNothing(ctx)
		s.createAgain(ctx)
		s.verify(ctx)
	}, SpecTimeout(specTimeout))
})

// eventuallyNothing waits until the namespace contains no companions and no other objects that belong to Echoes.
func (s *stage) eventuallyNothing(ctx SpecContext) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, object := range objects(ctx, g, s.namespace, withoutEchoes()...) {
			if pod, isPod := object.(*corev1.Pod); !isPod || pod.Labels["app"] != "web" {
				g.Expect(object.GetName()).To(BeEmpty(), "%T", object)
			}
		}
	}).WithContext(ctx).Should(Succeed())
}

// createAgain installs the API again and creates new Echoes.
func (s *stage) createAgain(ctx SpecContext) {
	GinkgoHelper()
	apply(ctx)
	s.createSteady(ctx)
	s.churn = startChurn(ctx, s.steady.Namespace)
	s.await(ctx, 15)
}
