package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// floodConnections is the number of connections in a flood. In total, the flood's request bodies are twice the pod's memory limit.
const floodConnections = "10"

var _ = Describe("a flood", func() {
	It("neither stops an Echo with the default memory limit nor blocks other clients", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "flooded", func(e *v1.Echo) { e.Spec.Replicas = new(int32(1)) })
		createReady(ctx, echo)
		pod := pods(ctx, Default, echo)[0]
		Expect(pod.Spec.Containers[0].Resources.Limits.Memory().IsZero()).To(BeFalse(), "the defaults must include a memory limit")
		ordinary := realcluster.StartProber(ctx, echo.Namespace, echo.Status.URL+"/ordinary", "--count=1000000", "--interval=20ms",
			"--duration=1h")

		flood := realcluster.StartProber(ctx, echo.Namespace, echo.Status.URL+"/flood", "--flood="+floodConnections, "--duration=1m").Finish(ctx)
		Expect(flood.Failed).To(BeNumerically(">", 0), "the echo server rejects requests that exceed its memory: %+v", flood)

		seen := ordinary.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.Errors)
		Expect(seen.Requests).To(BeNumerically(">", 100))
		expectUndisturbed(ctx, &pod)
	}, SpecTimeout(10*time.Minute))
})

// expectUndisturbed expects that a pod still exists and has stayed ready since it was read, and that its container never terminated.
func expectUndisturbed(ctx context.Context, before *corev1.Pod) {
	GinkgoHelper()
	now := &corev1.Pod{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(before), now)).To(Succeed())
	Expect(now.UID).To(Equal(before.UID))
	for _, container := range now.Status.ContainerStatuses {
		Expect(container.RestartCount).To(BeZero(), "%+v", container.LastTerminationState)
		Expect(container.State.Running).NotTo(BeNil())
	}
	Expect(readyCondition(now)).To(Equal(readyCondition(before)), "including the time of the last transition")
}

// readyCondition returns the status of a pod's Ready condition, and the time of its last transition.
func readyCondition(pod *corev1.Pod) (found string) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			found = string(condition.Status) + " since " + condition.LastTransitionTime.UTC().String()
		}
	}
	return found
}
