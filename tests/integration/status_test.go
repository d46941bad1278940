package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the status", func() {
	It("follows the Deployment", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "followed"))
		expectPhase(ctx, echo, v1.PhasePending)
		rollOut(ctx, echo.Namespace, echo.Name)
		expectPhase(ctx, echo, v1.PhaseReady)

		By("losing a pod")
		play(ctx, echo, 1, "NewReplicaSetAvailable")
		expectPhase(ctx, echo, v1.PhaseWarning)
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPodsNotReady))
		Expect(now).To(haveCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonPodsNotReady))
		Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, v1.ReasonAsExpected))
		Expect(now.Status.ReadyReplicas).To(BeEquivalentTo(1))

		By("rolling out a change that does not end in time")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Image = "other" })
		expectPhase(ctx, echo, v1.PhaseUpdating)
		play(ctx, echo, 1, "ProgressDeadlineExceeded")
		expectPhase(ctx, echo, v1.PhaseWarning)
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name)).To(
			haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded))

		By("getting well")
		rollOut(ctx, echo.Namespace, echo.Name)
		expectPhase(ctx, echo, v1.PhaseReady)
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name)).To(
			haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, v1.ReasonAsExpected))
	})

	It("is ready with no replicas when none are wanted", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "none", func(e *v1.Echo) { e.Spec.Replicas = 0 }))
		Expect(echo).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonScaledToZero))
	})

	It("is scaled by the scale subresource", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "scaled"))
		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(ctx, echo, scale)).To(Succeed())
		Expect(scale.Status.Replicas).To(BeEquivalentTo(2))
		Expect(scale.Status.Selector).To(Equal(echo.Status.Selector))
		Expect(kubectl(ctx, "scale", "echo", echo.Name, "-n", echo.Namespace, "--replicas=5")).To(ContainSubstring("scaled"))
		Eventually(func(g Gomega) {
			g.Expect(*deploymentNow(ctx, g, echo.Namespace, echo.Name).Spec.Replicas).To(BeEquivalentTo(5))
		}).WithContext(ctx).Should(Succeed())
		expectPhase(ctx, echo, v1.PhaseUpdating)
		rollOut(ctx, echo.Namespace, echo.Name)
	})

	It("is printed by kubectl", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "printed"))
		Expect(kubectl(ctx, "get", "echo", "-n", echo.Namespace)).To(MatchRegexp(
			`^NAME +DESIRED +READY +PHASE +URL +AGE\nprinted +2 +2 +Ready +http://printed\.%s\.svc +\d+s\n$`, echo.Namespace))
		Expect(kubectl(ctx, "get", "echoes", "-n", echo.Namespace, "-o", "wide")).To(ContainSubstring(echoServerImage))
		Expect(kubectl(ctx, "wait", "--for=condition=Ready", "echo/printed", "-n", echo.Namespace, "--timeout=5s")).To(
			ContainSubstring("condition met"))
	})
})

// play gives the Echo's Deployment a status, once the operator's latest wish has reached it.
func play(ctx context.Context, echo *v1.Echo, available int32, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(support.SetDeploymentStatus(ctx, k8s, deploymentNow(ctx, g, echo.Namespace, echo.Name), available, reason)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

func expectPhase(ctx context.Context, echo *v1.Echo, phase string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := echoNow(ctx, g, echo.Namespace, echo.Name)
		g.Expect(now.Status.Phase).To(Equal(phase))
		g.Expect(now.Status.ObservedGeneration).To(Equal(now.Generation))
		g.Expect(now.Status.Conditions).To(HaveLen(3))
	}).WithContext(ctx).Should(Succeed())
}
