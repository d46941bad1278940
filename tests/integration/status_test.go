package integration

import (
	"context"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the status", func() {
	It("follows the Deployment", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "followed"))
		expectPhase(ctx, echo, v1.PhasePending)
		rollOut(ctx, echo.Namespace, echo.Name)
		expectPhase(ctx, echo, v1.PhaseReady)

		By("a pod becoming not ready")
		setDeploymentStatus(ctx, echo, 1, "NewReplicaSetAvailable")
		expectPhase(ctx, echo, v1.PhaseWarning)
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPodsNotReady))
		Expect(now).To(haveCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonPodsNotReady))
		Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, v1.ReasonAsExpected))
		Expect(now.Status.ReadyReplicas).To(BeEquivalentTo(1))

		By("a rollout that exceeds its deadline")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Image = "other" })
		expectPhase(ctx, echo, v1.PhaseUpdating)
		setDeploymentStatus(ctx, echo, 1, "ProgressDeadlineExceeded")
		expectPhase(ctx, echo, v1.PhaseWarning)
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name)).To(
			haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded))

		By("recovering")
		rollOut(ctx, echo.Namespace, echo.Name)
		expectPhase(ctx, echo, v1.PhaseReady)
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name)).To(
			haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, v1.ReasonAsExpected))
	})

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

	// The specs run the real echo server with the variables of the Echo's container.
	DescribeTable("names a variable that stops the echo server", func(ctx SpecContext, name, value, message string) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "stopped", func(e *v1.Echo) {
			e.Spec.Env = []corev1.EnvVar{{Name: name, Value: value}}
		}))
		pod := createPod(ctx, echo, echo.Name+"-1")
		command := exec.CommandContext(ctx, filepath.Join(programs, "echo-server"))
		for _, variable := range pod.Spec.Containers[0].Env {
			command.Env = append(command.Env, variable.Name+"="+variable.Value)
		}
		output, err := command.CombinedOutput()
		Expect(err).To(HaveOccurred(), string(output))
		setPodStatus(ctx, pod, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "echo", RestartCount: 1, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: int32(command.ProcessState.ExitCode()), Message: string(output)}}}}})
		expectCause(ctx, echo, v1.ReasonPodsCrashing, "terminated with exit code 2: \"echo-server: "+message+"\". Check spec.args and spec.env.")
	},
		Entry("with an invalid value", "ECHO_HTTP_ADDR", "nonsense", "ECHO_HTTP_ADDR: 'nonsense' is not an address such as :8080 or 127.0.0.1:8080"),
		Entry("with the port of another variable", "ECHO_HTTP_ADDR", ":9090",
			"ECHO_ADMIN_ADDR: ':9090' uses the same port as ECHO_HTTP_ADDR, ':9090'"),
	)
})

var _ = Describe("the message of an Echo that is ready", func() {
	It("mentions an Ingress while it has no address", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "web", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "web.example.com", ClassName: "nginx"}
		}))
		message := func() AsyncAssertion { return support.EventuallyObject(ctx, k8s, echo) }
		without := HaveField("Status.Message", HavePrefix("The Ingress has no address yet. "))
		message().Should(without)
		ingress := named(&networkingv1.Ingress{}, echo)
		patchStatus(ctx, ingress, func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		})
		message().Should(HaveField("Status.Message", "2 of 2 pods are ready."))
		patchStatus(ctx, ingress, func(i *networkingv1.Ingress) { i.Status.LoadBalancer.Ingress = nil })
		message().Should(And(without, HaveField("Status.Phase", v1.PhaseReady)))
	})
})

// setDeploymentStatus sets the status of an Echo's Deployment, as the Deployment controller does.
func setDeploymentStatus(ctx context.Context, echo *v1.Echo, available int32, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(support.SetDeploymentStatus(ctx, k8s, deploymentNow(ctx, g, echo.Namespace, echo.Name), available, reason)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

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
