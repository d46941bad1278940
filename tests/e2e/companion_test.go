package e2e

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

var _ = Describe("a companion", func() {
	It("behaves as documented", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		owner := realcluster.WebPod(namespace, "web-0", "")
		Expect(k8s.Create(ctx, owner)).To(Succeed())
		doc := companionsDoc(ctx, namespace)

		By("waiting for its Echo, which an event reports to the owner")
		doc.run(ctx, "kubectl label pod web-0 ")
		Eventually(func(g Gomega) []eventsv1.Event { return support.EventsOf(ctx, g, k8s, owner) }).
			WithContext(ctx).Should(ContainElement(HaveField("Reason", "EchoNotFound")))
		Expect(companions(ctx, Default, namespace)).To(BeEmpty())
		echo := companionEcho(namespace, "test-echo")
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		first := eventuallyCompanion(ctx, owner, "")
		waitReady(ctx, echo)
		Expect(first.Spec.Containers[0].Image).To(Equal(pods(ctx, Default, echo)[0].Spec.Containers[0].Image))

		By("responding as the Echo specifies, at its address and through a port-forward")
		Expect(doc.run(ctx, "kubectl get pods -l ")).To(MatchRegexp(`(?m)^%s +1/1 +Running .* %s `, first.Name, owner.Spec.NodeName))
		doc.expectAnswer(ctx, first, http.StatusTeapot)

		By("not being selected by other objects")
		service := &corev1.Service{Namespace: namespace, Name: "web",
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
				Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}}}
		Expect(k8s.Create(ctx, service)).To(Succeed())
		expectEndpoints(ctx, namespace, "web", *owner)
		expectEndpoints(ctx, namespace, echo.Name, pods(ctx, Default, echo)...)

		By("being recreated, and being replaced when the response changes")
		realcluster.Kubectl(ctx, "delete", "pod", first.Name, "-n", namespace)
		second := eventuallyCompanion(ctx, owner, first.UID)
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Response.StatusCode = http.StatusServiceUnavailable })
		third := eventuallyCompanion(ctx, owner, second.UID)
		doc.expectAnswer(ctx, third, http.StatusServiceUnavailable)

		By("being deleted and created with the label, and deleted with its owner")
		doc.run(ctx, "kubectl label pods/web-0 ")
		eventuallyNone(ctx, namespace)
		doc.run(ctx, "kubectl label pod web-0 ")
		eventuallyCompanion(ctx, owner, third.UID)
		realcluster.Kubectl(ctx, "delete", "pod", owner.Name, "-n", namespace)
		eventuallyNone(ctx, namespace)
	}, SpecTimeout(15*time.Minute))

	It("is created for each pod of a StatefulSet, which reuses names", func(ctx SpecContext) {
		echo := companionEcho(namespaces.New(ctx), "beside")
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		set := webSet(echo)
		Expect(k8s.Create(ctx, set)).To(Succeed())
		kept, gone := eventuallyCompanion(ctx, eventuallyPod(ctx, set, 1, ""), ""), eventuallyPod(ctx, set, 0, "")
		old := eventuallyCompanion(ctx, gone, "")

		Expect(k8s.Delete(ctx, gone)).To(Succeed())
		successor := eventuallyPod(ctx, set, 0, gone.UID)
		Expect(eventuallyCompanion(ctx, successor, "").Name).NotTo(Equal(old.Name))
		Eventually(func(g Gomega) { g.Expect(companions(ctx, g, echo.Namespace)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())
		Expect(eventuallyCompanion(ctx, eventuallyPod(ctx, set, 1, ""), "").UID).To(Equal(kept.UID))

		realcluster.Kubectl(ctx, "scale", "statefulset", set.Name, "-n", set.Namespace, "--replicas=0")
		eventuallyNone(ctx, echo.Namespace)
	}, SpecTimeout(10*time.Minute))

	It("is not created again on a cordoned node until the node is uncordoned", Serial, func(ctx SpecContext) {
		_, owner := accompanied(ctx)
		last := eventuallyCompanion(ctx, owner, "")
		DeferCleanup(func(ctx SpecContext) { realcluster.Kubectl(ctx, "uncordon", owner.Spec.NodeName) }, NodeTimeout(time.Minute))
		realcluster.Kubectl(ctx, "cordon", owner.Spec.NodeName)
		realcluster.Kubectl(ctx, "delete", "pod", last.Name, "-n", owner.Namespace)
		Consistently(func(g Gomega) { g.Expect(companions(ctx, g, owner.Namespace)).To(BeEmpty()) }).WithContext(ctx).WithTimeout(
			3 * time.Second).Should(Succeed())
		realcluster.Kubectl(ctx, "uncordon", owner.Spec.NodeName)
		eventuallyCompanion(ctx, owner, last.UID)
	}, SpecTimeout(10*time.Minute))

	It("is deleted before its Echo, and created for the next Echo of that name", func(ctx SpecContext) {
		echo, owner := accompanied(ctx)
		last := eventuallyCompanion(ctx, owner, "")
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Replicas = new(int32(0)) }) // so that the deletion waits only for the companion
		Eventually(func(g Gomega) { g.Expect(pods(ctx, g, echo)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
		realcluster.Kubectl(ctx, "delete", "echo", echo.Name, "-n", echo.Namespace, waitTimeout)
		Expect(companions(ctx, Default, echo.Namespace)).To(BeEmpty())
		now := &corev1.Pod{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(owner), now)).To(Succeed())
		Expect(now.UID).To(Equal(owner.UID))
		Expect(now.Status.ContainerStatuses).To(ConsistOf(And(HaveField("State.Running", Not(BeNil())), HaveField("RestartCount", BeZero()))))
		Expect(k8s.Create(ctx, companionEcho(echo.Namespace, echo.Name))).To(Succeed())
		eventuallyCompanion(ctx, owner, last.UID)
	}, SpecTimeout(10*time.Minute))
})
