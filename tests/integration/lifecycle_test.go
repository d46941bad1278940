package integration

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an Echo", func() {
	It("is created from the sample, with all defaults", func(ctx SpecContext) {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "v1_echo.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(Equal("apiVersion: example.com/v1\nkind: Echo\n" +
			"metadata: {name: test-echo, namespace: default}\nspec: {replicas: 2}\n"))
		echo := &v1.Echo{}
		Expect(yaml.UnmarshalStrict(text, echo)).To(Succeed())
		echo = createReadyEcho(ctx, echo)

		Expect(echo.Spec).To(Equal(support.Echo("", "").Spec))
		Expect(echo.Finalizers).To(ConsistOf(v1.Finalizer))
		Expect(echo.Status.Phase).To(Equal(v1.PhaseReady))
		Expect(echo.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(echo.Status.URL).To(Equal("http://test-echo.default.svc"))
		Expect(echo.Status.Image).To(Equal(echoServerImage))
		Expect(echo.Status.Selector).To(Equal("app.kubernetes.io/instance=test-echo,app.kubernetes.io/name=echo"))
	})

	It("owns its children through references that do not block its deletion", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "owner"))
		for _, child := range []client.Object{
			deploymentNow(ctx, Default, echo.Namespace, echo.Name), serviceNow(ctx, Default, echo.Namespace, echo.Name),
		} {
			Expect(child.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{
				APIVersion: "example.com/v1", Kind: "Echo", Name: echo.Name, UID: echo.UID,
				Controller: new(true), BlockOwnerDeletion: new(false),
			}))
		}
	})

	It("applies changes to the spec to its children, and removes unset fields", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "changing", func(e *v1.Echo) {
			e.Spec.Env = []corev1.EnvVar{{Name: "ONE", Value: "1"}, {Name: "TWO", Value: "2"}}
			e.Spec.Service.Annotations = map[string]string{"a": "1", "b": "2"}
		}))
		edit(ctx, echo, func(e *v1.Echo) {
			e.Spec.Replicas = new(int32(3))
			e.Spec.Image = "registry.example.com/other:1"
			e.Spec.Port = 9000
			e.Spec.Env = []corev1.EnvVar{{Name: "TWO", Value: "zwei"}}
			e.Spec.Resources = &corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1024Mi")}}
			e.Spec.Service = v1.EchoService{Type: corev1.ServiceTypeNodePort, Port: 8000, Annotations: map[string]string{"b": "2"},
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}
		})
		Eventually(func(g Gomega) {
			d := deploymentNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(*d.Spec.Replicas).To(BeEquivalentTo(3))
			c := d.Spec.Template.Spec.Containers[0]
			g.Expect(c.Image).To(Equal("registry.example.com/other:1"))
			g.Expect(c.Ports[0].ContainerPort).To(BeEquivalentTo(9000))
			g.Expect(c.Env).To(ContainElement(corev1.EnvVar{Name: "TWO", Value: "zwei"}))
			g.Expect(c.Env).NotTo(ContainElement(HaveField("Name", "ONE")))
			g.Expect(c.Resources.Limits.Cpu().String()).To(Equal("500m"))
			g.Expect(c.Resources.Requests).NotTo(HaveKeyWithValue(corev1.ResourceCPU, resource.MustParse("10m")))
			s := serviceNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(s.Spec.Type).To(Equal(corev1.ServiceTypeNodePort))
			g.Expect(s.Spec.Ports).To(ConsistOf(HaveField("Port", BeEquivalentTo(8000))))
			g.Expect(s.Spec.ExternalTrafficPolicy).To(Equal(corev1.ServiceExternalTrafficPolicyLocal))
			g.Expect(s.Annotations).To(HaveKeyWithValue("b", "2"))
			g.Expect(s.Annotations).NotTo(HaveKey("a"))
			g.Expect(echoNow(ctx, g, echo.Namespace, echo.Name).Status.URL).To(HaveSuffix(".svc:8000"))
		}).WithContext(ctx).Should(Succeed())
		rollOut(ctx, echo.Namespace, echo.Name)
	})

	It("changes the type of its Service and back", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "typed"))
		for _, service := range []v1.EchoService{
			{Type: corev1.ServiceTypeLoadBalancer, Port: 80, LoadBalancerClass: "example.com/class",
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal},
			{Type: corev1.ServiceTypeNodePort, Port: 80},
			{Type: corev1.ServiceTypeClusterIP, Port: 80},
		} {
			edit(ctx, echo, func(e *v1.Echo) { e.Spec.Service = service })
			Eventually(func(g Gomega) {
				now := serviceNow(ctx, g, echo.Namespace, echo.Name)
				g.Expect(now.Spec.Type).To(Equal(service.Type))
				g.Expect(now.Spec.LoadBalancerClass == nil).To(Equal(service.LoadBalancerClass == ""))
				hasNodePort := now.Spec.Ports[0].NodePort != 0
				g.Expect(hasNodePort).To(Equal(service.Type != corev1.ServiceTypeClusterIP))
				g.Expect(echoNow(ctx, g, echo.Namespace, echo.Name)).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, nil))
			}).WithContext(ctx).Should(Succeed())
		}
		expectNoWrite(ctx, echo)
	})

	It("whose Ingress no longer has a class gets the default class, as a new Ingress would", func(ctx SpecContext) {
		class := &networkingv1.IngressClass{
			Name:        "default-class",
			Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"},
			Spec:        networkingv1.IngressClassSpec{Controller: "example.com/controller"},
		}
		Expect(k8s.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, class)).To(Succeed()) })
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "classed", func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "classed.example.com", ClassName: "other"}
		}))
		ingress := named(&networkingv1.Ingress{}, echo)
		support.EventuallyObject(ctx, k8s, ingress).Should(HaveField("Spec.IngressClassName", HaveValue(Equal("other"))))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Ingress.ClassName = "" })
		support.EventuallyObject(ctx, k8s, ingress).Should(HaveField("Spec.IngressClassName", HaveValue(Equal(class.Name))))
		rollOut(ctx, echo.Namespace, echo.Name)
		expectNoWrite(ctx, echo)
	})

	It("with more replicas than the operator allows is rejected without changes, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "greedy"))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas = new(int32(maxReplicas + 1)) })
		expectFailed(ctx, echo, v1.ReasonInvalidSpec, And(ContainSubstring("allows at most 20"), ContainSubstring("MAX_REPLICAS")))
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(now).To(haveCondition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonInvalidSpec))
		Expect(*deploymentNow(ctx, Default, echo.Namespace, echo.Name).Spec.Replicas).To(BeEquivalentTo(2))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas = new(int32(maxReplicas)) })
		rollOut(ctx, echo.Namespace, echo.Name)
	})

	It("whose children the API server rejects reports the reason, and recovers", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "invalid"))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Env = []corev1.EnvVar{{Name: "NOT=ALLOWED"}} })
		expectFailed(ctx, echo, v1.ReasonInvalidSpec, ContainSubstring("NOT=ALLOWED"))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Env = nil })
		rollOut(ctx, echo.Namespace, echo.Name)
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

	It("waits for pods that remain after another client deletes the Deployment", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "draining"))
		pod := createPod(ctx, echo, "draining-1")
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		collectGarbage(ctx, echo)
		Consistently(func(g Gomega) { echoNow(ctx, g, echo.Namespace, echo.Name) }).Should(Succeed())
		Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		eventuallyGone(ctx, k8s, echo)
	})

	It("does not wait for pods of an orphaned Deployment", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "parted"))
		createPod(ctx, echo, "parted-1")
		for _, child := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
			edit(ctx, named(child, echo), func(o client.Object) { o.SetOwnerReferences(nil) })
		}
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		eventuallyGone(ctx, k8s, echo)
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).DeletionTimestamp).To(BeNil())
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).DeletionTimestamp).To(BeNil())
	})

	It("does not remove other finalizers", func(ctx SpecContext) {
		echo := createEcho(ctx, support.Echo(newNamespace(ctx), "shared", func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }))
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		collectGarbage(ctx, echo)
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Finalizers", ConsistOf("example.org/theirs")))
	})

	It("does not delete orphaned children", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "parting"))
		Expect(k8s.Delete(ctx, echo, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Finalizers", ConsistOf(metav1.FinalizerOrphanDependents)))
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).DeletionTimestamp).To(BeNil())
		Expect(serviceNow(ctx, Default, echo.Namespace, echo.Name).DeletionTimestamp).To(BeNil())
	})
})

// collectGarbage completes the foreground deletion of children, as the garbage collector does.
func collectGarbage(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(deploymentNow(ctx, g, echo.Namespace, echo.Name).DeletionTimestamp).NotTo(BeNil())
		for _, child := range objects.Kinds(nil) {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(echo), child); apierrors.IsNotFound(err) {
				continue
			}
			child.SetFinalizers(nil)
			g.Expect(k8s.Update(ctx, child)).To(Succeed())
		}
	}).WithContext(ctx).Should(Succeed())
}

func eventuallyGone(ctx context.Context, c client.Client, object client.Object) {
	GinkgoHelper()
	Eventually(c.Get).WithContext(ctx).WithArguments(client.ObjectKeyFromObject(object), object).Should(Satisfy(apierrors.IsNotFound))
}

var _ = Describe("a paused Echo", func() {
	It("does not change its children, reports their status, and can be deleted", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "paused"))
		edit(ctx, echo, func(e *v1.Echo) {
			e.Spec.Paused, e.Spec.Replicas, e.Spec.NetworkPolicy = true, new(int32(5)), &v1.EchoNetworkPolicy{Enabled: true}
		})
		Eventually(func(g Gomega) {
			now := echoNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(now).To(haveCondition(v1.ConditionProgressing, metav1.ConditionFalse, v1.ReasonPaused))
			g.Expect(now).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonAllPodsReady))
		}).WithContext(ctx).Should(Succeed())
		edit(ctx, serviceNow(ctx, Default, echo.Namespace, echo.Name), func(s *corev1.Service) { s.Spec.Selector = nil })
		Consistently(func(g Gomega) {
			g.Expect(*deploymentNow(ctx, g, echo.Namespace, echo.Name).Spec.Replicas).To(BeEquivalentTo(2))
			g.Expect(serviceNow(ctx, g, echo.Namespace, echo.Name).Spec.Selector).To(BeEmpty())
		}).Should(Succeed())

		By("being resumed")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Paused = false })
		Eventually(func(g Gomega) {
			g.Expect(*deploymentNow(ctx, g, echo.Namespace, echo.Name).Spec.Replicas).To(BeEquivalentTo(5))
			g.Expect(serviceNow(ctx, g, echo.Namespace, echo.Name).Spec.Selector).NotTo(BeEmpty())
			get(ctx, g, echo.Namespace, echo.Name, &networkingv1.NetworkPolicy{})
		}).WithContext(ctx).Should(Succeed())

		By("being deleted while paused")
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Paused = true })
		Expect(k8s.Delete(ctx, echo)).To(Succeed())
		eventuallyReleased(ctx, k8s, echo)
	})
})
