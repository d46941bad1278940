package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an Echo", func() {
	It("whose Ingress no longer has a class gets the default class, as a new Ingress would", func(ctx SpecContext) {
		class := &networkingv1.IngressClass{
			Name:        "default-class",
			Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"},
			Spec:        networkingv1.IngressClassSpec{Controller: "example.com/controller"},
		}
		Expect(k8s.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, class)).To(Succeed()) })
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "classed", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "classed.example.com", ClassName: "other"}
		}))
		ingress := named(&networkingv1.Ingress{}, echo)
		support.EventuallyObject(ctx, k8s, ingress).Should(HaveField("Spec.IngressClassName", HaveValue(Equal("other"))))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Ingress.ClassName = "" })
		support.EventuallyObject(ctx, k8s, ingress).Should(HaveField("Spec.IngressClassName", HaveValue(Equal(class.Name))))
		rollOut(ctx, echo.Namespace, echo.Name)
		expectNoWrite(ctx, echo)
	})

	It("counts a transition that repeats in one event", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "repeating"))
		repeated := status.EchoNotFound("none")
		underTest.Echoes.SendEvents(ctx, echo, repeated, repeated)
		Eventually(func(g Gomega) []eventsv1.Event { return support.EventsOf(ctx, g, k8s, echo) }).WithContext(ctx).Should(ContainElement(
			And(HaveField("Note", repeated.Note), HaveField("Series", HaveField("Count", BeEquivalentTo(2))))))
	})

	It("sends one event for each transition", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "telling"))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas = new(int32(3)) })
		support.EventuallyObject(ctx, k8s, named(&appsv1.Deployment{}, echo)).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(3))))
		rollOut(ctx, echo.Namespace, echo.Name)
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Env = []corev1.EnvVar{{Name: "X", Value: "y"}} })
		expectEvents(ctx, echo, "Deployed", "Ready", "Scaled", "RolloutStarted", "Ready", "Updated", "RolloutStarted")
	})
})

var _ = Describe("deleting an Echo", func() {
	It("deletes its children in the foreground and waits for them", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "ending"))
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		Eventually(func(g Gomega) {
			d := deploymentNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(d.DeletionTimestamp).NotTo(BeNil())
			g.Expect(d.Finalizers).To(ConsistOf(metav1.FinalizerDeleteDependents))
			now := echoNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(now.Status.Phase).To(Equal(v1.PhaseTerminating))
			g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDeleting))
			g.Expect(now).To(haveCondition(v1.ConditionProgressing, metav1.ConditionTrue, v1.ReasonDeleting))
		}).WithContext(ctx).Should(Succeed())
		Consistently(func(g Gomega) { echoNow(ctx, g, echo.Namespace, echo.Name) }).Should(Succeed())

		eventuallyReleased(ctx, k8s, echo)
		expectEvents(ctx, echo, "Deployed", "Ready", "DeleteRequested")
	})

	It("completes in a namespace that is being deleted, where no events can be created", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "doomed"))
		Expect(k8s.Delete(ctx, &corev1.Namespace{Name: echo.Namespace})).To(Succeed())
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		eventuallyReleased(ctx, k8s, echo)
	})
})

func eventuallyGone(ctx context.Context, c client.Client, object client.Object) {
	GinkgoHelper()
	Eventually(c.Get).WithContext(ctx).WithArguments(client.ObjectKeyFromObject(object), object).Should(Satisfy(apierrors.IsNotFound))
}
