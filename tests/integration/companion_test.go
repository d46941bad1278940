package integration

import (
	"context"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a companion", func() {
	It("is created once its owner is on a node, and stays unchanged", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "beside"))
		owner := createOwner(ctx, k8s, echo.Namespace, "web-0", echo.Name)
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(BeEmpty()) }).Should(Succeed())
		bind(ctx, k8s, owner, newNode(ctx, k8s))
		eventuallyOne(ctx, k8s, owner)
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name).Status.Pods).To(BeEmpty())
		Expect(eventReasons(ctx, Default, owner)).To(BeEmpty())
		cached := &corev1.Pod{}
		Expect(underTest.Companions.Labeled.Get(ctx, client.ObjectKeyFromObject(owner), cached)).To(Succeed())
		Expect(cached.Spec.Containers).To(BeEmpty(), "the cache must not hold what the operator does not read")

		By("sending no requests in further reconciles")
		requests := &atomic.Int64{}
		reconciler := &controllers.CompanionReconciler{Dependencies: underTest.Companions.Dependencies, Labeled: underTest.Companions.Labeled}
		reconciler.Client = refusingClient(requests)
		reconciler.Live = reconciler.Client
		Eventually(func(g Gomega) { g.Expect(companionsNow(ctx, g, underTest.GetClient(), owner.Namespace)).To(HaveLen(1)) }).
			WithContext(ctx).Should(Succeed())
		for range 3 {
			result, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
			Expect(err).NotTo(HaveOccurred())
			Expect(result).To(BeZero())
			Expect(requests.Load()).To(BeZero())
		}
	})

	DescribeTable("is deleted when its owner", func(ctx SpecContext, end func(context.Context, *corev1.Pod)) {
		echo, owner := createEchoAndOwner(ctx, "ending")
		companion := eventuallyOne(ctx, k8s, owner)
		end(ctx, owner)
		eventuallyGone(ctx, k8s, companion)
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(BeEmpty()) }).Should(Succeed())
	},
		Entry("succeeds", func(ctx context.Context, owner *corev1.Pod) {
			setPodStatus(ctx, owner, corev1.PodStatus{Phase: corev1.PodSucceeded})
		}),
		Entry("loses the label", func(ctx context.Context, owner *corev1.Pod) {
			edit(ctx, owner, func(p *corev1.Pod) { delete(p.Labels, v1.CompanionLabel) })
		}),
		Entry("is deleted", func(ctx context.Context, owner *corev1.Pod) {
			Expect(k8s.Delete(ctx, owner, client.GracePeriodSeconds(0))).To(Succeed())
		}),
	)

	It("waits for its Echo, which causes one event for its owner, and is deleted with the Echo", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		owner := createOwner(ctx, k8s, namespace, "web", "late")
		bind(ctx, k8s, owner, newNode(ctx, k8s))
		expectEvents(ctx, owner, "EchoNotFound")
		edit(ctx, owner, func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "more", Operator: "Exists"})
		})
		Consistently(func(g Gomega) []string { return eventReasons(ctx, g, owner) }).WithContext(ctx).Should(Equal([]string{"EchoNotFound"}))

		echo := createEcho(ctx, support.Echo(namespace, "late"))
		companion := eventuallyOne(ctx, k8s, owner)
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		eventuallyGone(ctx, k8s, companion)
		eventuallyReleased(ctx, k8s, echo)
		expectEvents(ctx, owner, "EchoNotFound", "EchoNotFound")
	})

	It("is created only once by concurrent reconciles", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "raced")
		for range 3 {
			Expect(k8s.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(echo.Namespace), client.GracePeriodSeconds(0),
				client.MatchingLabels{"app.kubernetes.io/name": "echo-companion"})).To(Succeed())
			passes := sync.WaitGroup{}
			for range 8 {
				passes.Go(func() {
					defer GinkgoRecover()
					_, err := underTest.Companions.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
					Expect(err).NotTo(HaveOccurred())
				})
			}
			passes.Wait()
			Eventually(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
			Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(HaveLen(1)) }, "300ms").Should(Succeed())
		}
	})
})
