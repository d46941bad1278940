package integration

import (
	"context"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a companion", func() {
	It("is created on its owner's node once the owner is on a node, with the settings of the Echo", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "beside", func(e *v1.Echo) {
			e.Spec.Image, e.Spec.Port = "registry.example.com/other:1", 9000
			e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
		}))
		owner := createOwner(ctx, k8s, echo.Namespace, "web-0", echo.Name)
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(BeEmpty()) }).Should(Succeed())

		node := newNode(ctx, k8s)
		bind(ctx, k8s, owner, node)
		companion := eventuallyOne(ctx, k8s, owner)
		Expect(companion.OwnerReferences).To(ConsistOf(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID,
			Controller: new(true), BlockOwnerDeletion: new(false)}))
		Expect(companion.Spec.NodeName).To(BeEmpty(), "the scheduler assigns the node")
		Expect(companion.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields).To(ConsistOf(
			corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name}}))
		Expect(companion.Spec.Tolerations).To(ContainElement(corev1.Toleration{Key: "rare", Operator: corev1.TolerationOpExists}))
		Expect(companion.Spec.Containers[0].Image).To(Equal("registry.example.com/other:1"))
		Expect(companion.Spec.Containers[0].Ports[0].ContainerPort).To(BeEquivalentTo(9000))
		Expect(companion.Annotations).To(HaveKeyWithValue("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"))
		expectCompanions(ctx, echo, 1)

		By("not being selected by the Service of the Echo, but by its NetworkPolicy")
		Expect(labels.SelectorFromSet(serviceNow(ctx, Default, echo.Namespace, echo.Name).Spec.Selector).Matches(
			labels.Set(companion.Labels))).To(BeFalse())
		policy := get(ctx, Default, echo.Namespace, echo.Name, &networkingv1.NetworkPolicy{})
		guarded, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		Expect(err).NotTo(HaveOccurred())
		Expect(guarded.Matches(labels.Set(companion.Labels))).To(BeTrue())
		Expect(guarded.Matches(labels.Set(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Spec.Template.Labels))).To(BeTrue())
		Expect(echoNow(ctx, Default, echo.Namespace, echo.Name).Status.Pods).To(BeEmpty())

		By("staying unchanged")
		Expect(eventReasons(ctx, Default, owner)).To(BeEmpty())
		expectNoRequest(ctx, owner)
	})

	DescribeTable("is deleted when its owner", func(ctx SpecContext, end func(context.Context, *corev1.Pod)) {
		echo, owner := createEchoAndOwner(ctx, "ending")
		companion := eventuallyOne(ctx, k8s, owner)
		end(ctx, owner)
		eventuallyGone(ctx, k8s, companion)
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(BeEmpty()) }).Should(Succeed())
		expectCompanions(ctx, echo, 0)
	},
		Entry("succeeds", func(ctx context.Context, owner *corev1.Pod) {
			setPodStatus(ctx, owner, corev1.PodStatus{Phase: corev1.PodSucceeded})
		}),
		Entry("fails", func(ctx context.Context, owner *corev1.Pod) {
			setPodStatus(ctx, owner, corev1.PodStatus{Phase: corev1.PodFailed})
		}),
		Entry("loses the label", func(ctx context.Context, owner *corev1.Pod) {
			edit(ctx, owner, func(p *corev1.Pod) { delete(p.Labels, v1.CompanionLabel) })
		}),
		Entry("is deleted", func(ctx context.Context, owner *corev1.Pod) {
			Expect(k8s.Delete(ctx, owner, client.GracePeriodSeconds(0))).To(Succeed())
		}),
		Entry("is being deleted, before the deletion is completed", func(ctx context.Context, owner *corev1.Pod) {
			blockDeletion(ctx, owner)
			Expect(k8s.Delete(ctx, owner, client.GracePeriodSeconds(0))).To(Succeed())
		}),
	)

	It("is created again after a user deletes it, and its labels are restored after a user changes them", func(ctx SpecContext) {
		_, owner := createEchoAndOwner(ctx, "deleted")
		first := eventuallyOne(ctx, k8s, owner)
		Expect(k8s.Delete(ctx, first, client.GracePeriodSeconds(0))).To(Succeed())
		second := eventuallyAnother(ctx, owner, first)
		edit(ctx, second, func(p *corev1.Pod) { p.Labels["app.kubernetes.io/component"] = "mine" })
		support.EventuallyObject(ctx, k8s, second).Should(And(
			HaveField("UID", second.UID), HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/component", "companion"))))
	})

	It("is replaced when the image, the port or the response of the Echo changes, and not for other changes", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "changing")
		last := eventuallyOne(ctx, k8s, owner)
		for _, change := range []func(*v1.Echo){
			func(e *v1.Echo) { e.Spec.Image = "registry.example.com/other:2" },
			func(e *v1.Echo) { e.Spec.Port = 9000 },
			func(e *v1.Echo) { e.Spec.Response = &v1.EchoResponse{StatusCode: 503} },
		} {
			edit(ctx, echo, change)
			last = eventuallyAnother(ctx, owner, last)
		}
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas, e.Spec.Service.Port = new(int32(5)), 81 })
		Consistently(func(g Gomega) { g.Expect(eventuallyOne(ctx, k8s, owner).UID).To(Equal(last.UID)) }).Should(Succeed())
	})

	It("waits for its Echo, which causes one event for its owner, and is deleted before the Echo", func(ctx SpecContext) {
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
		blockDeletion(ctx, companion)
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		collectGarbage(ctx, echo)
		Consistently(func(g Gomega) { echoNow(ctx, g, namespace, "late") }).Should(Succeed())
		support.EventuallyObject(ctx, k8s, companion).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		edit(ctx, companion, func(p *corev1.Pod) { p.Finalizers = nil })
		eventuallyGone(ctx, k8s, echo)
		Expect(companionsNow(ctx, Default, k8s, namespace)).To(BeEmpty())
		expectEvents(ctx, owner, "EchoNotFound", "EchoNotFound")
	})

	It("has no companion itself", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "alone")
		companion := eventuallyOne(ctx, k8s, owner)
		edit(ctx, companion, func(p *corev1.Pod) { p.Labels[v1.CompanionLabel] = echo.Name })
		bind(ctx, k8s, companion, newNode(ctx, k8s))
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(HaveLen(1)) }).Should(Succeed())
	})

	It("is not created while its node is unschedulable", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "cordoned"))
		node := newNode(ctx, k8s)
		edit(ctx, node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
		cache := underTest.GetClient()
		support.EventuallyObject(ctx, cache, node).Should(HaveField("Spec.Unschedulable", true))
		owner := createOwner(ctx, k8s, echo.Namespace, "web", echo.Name)
		bind(ctx, k8s, owner, node)
		Consistently(func(g Gomega) { g.Expect(companionsNow(ctx, g, k8s, echo.Namespace)).To(BeEmpty()) }).Should(Succeed())
		edit(ctx, node, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		eventuallyOne(ctx, k8s, owner)
	})

	It("is not created if another pod has its name, which causes an event for the owner", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "taken")
		companion := eventuallyOne(ctx, k8s, owner)
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Paused = true })
		support.EventuallyObject(ctx, k8s, echo).Should(haveCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonPaused))
		Expect(k8s.Delete(ctx, companion, client.GracePeriodSeconds(0))).To(Succeed())
		foreign := &corev1.Pod{Namespace: echo.Namespace, Name: companion.Name,
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "theirs"}}}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Paused = false })
		expectEvents(ctx, owner, "CompanionNotCreated")
		expectUntouched(ctx, k8s, foreign)
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

// The operator's cache does not contain companions whose labels were removed.
var _ = Describe("a companion whose labels another client removed", func() {
	It("gets its labels back", func(ctx SpecContext) {
		echo, owner := createEchoAndOwner(ctx, "restored")
		companion := eventuallyOne(ctx, k8s, owner)
		edit(ctx, companion, func(p *corev1.Pod) { p.Labels = nil })
		Expect(eventuallyOne(ctx, k8s, owner).UID).To(Equal(companion.UID))
		expectCompanions(ctx, echo, 1)
	})
})
