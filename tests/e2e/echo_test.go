package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("an Echo", func() {
	It("drops no request while the image and the environment change and pods restart", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "rolling")
		createReady(ctx, echo)
		old := map[string]bool{}
		for _, pod := range pods(ctx, Default, echo) {
			old[pod.Name] = true
		}
		prober := realcluster.StartProber(ctx, echo.Namespace, echo.Status.URL+"/e2e", "--count=1000000", "--interval=2ms", "--duration=1h")

		repository, _, _ := strings.Cut(realcluster.Image("echo-server"), "@")
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Image = repository + ":v" + version() }) // the same image under another name
		waitReady(ctx, echo)
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "ECHO_INFO_COLOR", Value: "blue"}} })
		waitReady(ctx, echo)
		realcluster.Kubectl(ctx, "rollout", "restart", "deployment/"+echo.Name, "-n", echo.Namespace)
		realcluster.Kubectl(ctx, "rollout", "status", "deployment/"+echo.Name, "-n", echo.Namespace, waitTimeout)
		Eventually(func(g Gomega) { // the old pods are draining
			list := &corev1.PodList{}
			g.Expect(k8s.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "echo"})).To(Succeed())
			g.Expect(list.Items).To(HaveLen(2))
		}).WithContext(ctx).Should(Succeed())

		seen := prober.Stop(ctx)
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.Errors)
		Expect(seen.Requests).To(BeNumerically(">", 500))
		Expect(seen.Pods).To(HaveKey(BeKeyOf(old)), "the first pods must have responded")
		for _, pod := range pods(ctx, Default, echo) {
			Expect(old).NotTo(HaveKey(pod.Name))
			Expect(seen.Pods).To(HaveKey(pod.Name), "the last pods must have responded")
			Expect(pod.Spec.Containers[0].Env).To(ContainElement(HaveField("Name", "ECHO_INFO_COLOR")))
		}
	}, SpecTimeout(15*time.Minute))

	It("runs an image that is not the operator's own, on a port below 1024", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "foreign", func(e *v1.Echo) {
			e.Spec.Image = realcluster.Image("other-server")
			e.Spec.Port = 80
			e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":80"}}
		})
		createReady(ctx, echo)
		Expect(pods(ctx, Default, echo)[0].Spec.Containers[0].ReadinessProbe.TCPSocket).NotTo(BeNil())
		Expect(probe(ctx, echo, "--count=20").Failed).To(BeZero())
	}, SpecTimeout(10*time.Minute))
})

var _ = Describe("deleting an Echo", func() {
	It("returns when the last pod has drained, and leaves nothing behind", func(ctx SpecContext) {
		echo := support.Echo(namespaces.New(ctx), "ending")
		createReady(ctx, echo)
		watch, err := k8s.Watch(ctx, &corev1.PodList{}, client.InNamespace(echo.Namespace),
			client.MatchingLabels{"app.kubernetes.io/instance": echo.Name, "app.kubernetes.io/managed-by": "echo-operator"})
		Expect(err).NotTo(HaveOccurred())
		defer watch.Stop()
		realcluster.Kubectl(ctx, "delete", "echo", "-n", echo.Namespace, echo.Name, waitTimeout)
		expectGone(ctx, echo)

		drained := 0
		for drained < 2 { // an echo server exits with code 0 if it has drained, and with another code if it was killed
			var event apiwatch.Event
			Eventually(watch.ResultChan()).WithContext(ctx).Should(Receive(&event))
			pod, ok := event.Object.(*corev1.Pod)
			Expect(ok).To(BeTrue(), "%v", event)
			if event.Type == apiwatch.Deleted {
				Expect(pod.Status.ContainerStatuses[0].State.Terminated).To(HaveField("ExitCode", BeZero()))
				drained++
			}
		}
	}, SpecTimeout(10*time.Minute))
})
