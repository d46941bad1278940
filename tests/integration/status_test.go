package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the status", func() {
	It("contains the pods by state, and the reasons why they are not ready", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "explained"))
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name).Status.Pods).To(Equal(map[string][]string{}), "the console expects a map")
		pod := createPod(ctx, echo, echo.Name+"-1")
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Pods", map[string][]string{"Pending": {pod.Name}}))

		By("being unschedulable")
		setPodStatus(ctx, pod, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
				Message: "0/3 nodes are available: 3 Insufficient memory."}}})
		expectCause(ctx, echo, v1.ReasonUnschedulable, `"0/3 nodes are available: 3 Insufficient memory". Lower spec.resources.requests`)

		By("failing to pull its image")
		setPodStatus(ctx, pod, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "echo", Image: "gone:1",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}}})
		expectCause(ctx, echo, v1.ReasonImagePullFailed, `Image gone:1 cannot be pulled: "not found".`)

		By("running")
		setPodStatus(ctx, pod, corev1.PodStatus{Phase: corev1.PodRunning})
		expectCause(ctx, echo, v1.ReasonRollingOut, "The pods are starting: 0 of 2 are ready.")

		By("becoming ready")
		setPodStatus(ctx, pod,
			corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}})
		rollOut(ctx, echo.Namespace, echo.Name)
		Eventually(func(g Gomega) {
			g.Expect(echoNow(ctx, g, echo.Namespace, echo.Name).Status.Pods).To(Equal(map[string][]string{"Ready": {pod.Name}}))
			g.Expect(eventReasons(ctx, g, echo)).To(Equal([]string{"Deployed", "NotReady", "NotReady", "Ready"}))
		}).WithContext(ctx).Should(Succeed())
		expectNoWrite(ctx, echo)

		By("losing its last pod")
		Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Pods", Equal(map[string][]string{})))
	})

	It("reports a rollout that exceeds its deadline", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "stuck"))
		deployment := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(support.SetDeploymentStatus(ctx, k8s, deployment, 0, "ProgressDeadlineExceeded")).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(And(HaveField("Status.Phase", v1.PhaseWarning),
			haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded)))
	})
})

// createPod creates one of an Echo's pods, as the ReplicaSet controller does.
func createPod(ctx context.Context, echo *v1.Echo, name string) *corev1.Pod {
	GinkgoHelper()
	d := deploymentNow(ctx, Default, echo.Namespace, echo.Name)
	pod := &corev1.Pod{
		Namespace: echo.Namespace, Name: name, Labels: d.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: echo.Name, UID: "some", Controller: new(true)}},
		Spec: d.Spec.Template.Spec,
	}
	Expect(k8s.Create(ctx, pod)).To(Succeed())
	return pod
}

// setPodStatus sets a pod's status, as the scheduler and the kubelet do.
func setPodStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) {
	GinkgoHelper()
	patchStatus(ctx, pod, func(p *corev1.Pod) { p.Status = status })
}

// expectCause waits until an Echo that is not Ready reports the given cause.
func expectCause(ctx context.Context, echo *v1.Echo, reason v1.Reason, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := echoNow(ctx, g, echo.Namespace, echo.Name)
		g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionFalse, reason))
		g.Expect(now.Status.Message).To(ContainSubstring(message))
	}).WithContext(ctx).Should(Succeed())
}

// expectFailed waits until an Echo reports that it has failed, with the given reason.
func expectFailed(ctx context.Context, echo *v1.Echo, reason v1.Reason, message types.GomegaMatcher) {
	GinkgoHelper()
	support.EventuallyObject(ctx, k8s, echo).Should(And(
		haveCondition(v1.ConditionReady, metav1.ConditionFalse, reason), haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, reason),
		HaveField("Status.Phase", v1.PhaseFailed), HaveField("Status.Message", message), HaveField("Status.Conditions", ContainElement(
			And(HaveField("Type", v1.ConditionDegraded), HaveField("Message", message))))))
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
