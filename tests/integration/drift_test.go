package integration

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("drift", func() {
	DescribeTable("of a field that the operator sets is reverted",
		func(ctx SpecContext, kind client.Object, change func(client.Object)) {
			echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "drifting", func(e *v1.Echo) {
				e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)}
				e.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
					{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway}}
			}))
			child := get(ctx, Default, echo.Namespace, echo.Name, kind.DeepCopyObject().(client.Object))
			before := metadataAndSpec(child)
			edit(ctx, child, change)
			Expect(metadataAndSpec(child)).NotTo(Equal(before), "the edit must change the child")
			support.EventuallyObject(ctx, k8s, child).Should(WithTransform(metadataAndSpec, Equal(before)))
			expectNoWrite(ctx, echo)
		},
		deploymentEntry("label that the operator selects", func(d *appsv1.Deployment) { d.Labels = nil }),
		serviceEntry("selector, which is set as a whole", func(s *corev1.Service) { s.Spec.Selector["more"] = "narrow" }),
		serviceEntry("number of a port, which is its key", func(s *corev1.Service) { s.Spec.Ports[0].Port = 99 }),
		serviceEntry("protocol of a port, which is its key", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }),
		serviceEntry("name of a port", func(s *corev1.Service) { s.Spec.Ports[0].Name = "other" }),
		deploymentEntry("number of a container port, which is its key", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort = 99
		}),
		deploymentEntry("name of a container, which is its key", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Name = "renamed"
		}),
		deploymentEntry("key of a spread constraint", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.DoNotSchedule
		}),
		Entry("NetworkPolicy: no peers, which would allow all clients", &networkingv1.NetworkPolicy{}, func(o client.Object) {
			o.(*networkingv1.NetworkPolicy).Spec.Ingress[0].From = nil
		}),
	)

	It("is reverted without changing fields that other clients set", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "shared"))
		edit(ctx, deploymentNow(ctx, Default, echo.Namespace, echo.Name), func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"example.org/theirs": "yes"}
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
			d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "sidecar", Image: "mesh"}}, d.Spec.Template.Spec.Containers...)
			d.Spec.Replicas = new(int32(7))
		})
		Eventually(func(g Gomega) {
			d := deploymentNow(ctx, g, echo.Namespace, echo.Name)
			g.Expect(*d.Spec.Replicas).To(BeEquivalentTo(2))
			g.Expect(d.Annotations).To(HaveKeyWithValue("example.org/theirs", "yes"))
			g.Expect(d.Spec.Template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
			g.Expect(d.Spec.Template.Spec.Containers).To(ContainElement(HaveField("Name", "sidecar")))
		}).WithContext(ctx).Should(Succeed())
		rollOut(ctx, echo.Namespace, echo.Name)
		expectNoWrite(ctx, echo)
	})
})

func deploymentEntry(name string, change func(*appsv1.Deployment)) TableEntry {
	return Entry("Deployment: "+name, &appsv1.Deployment{}, func(o client.Object) { change(o.(*appsv1.Deployment)) })
}

func serviceEntry(name string, change func(*corev1.Service)) TableEntry {
	return Entry("Service: "+name, &corev1.Service{}, func(o client.Object) { change(o.(*corev1.Service)) })
}

// metadataAndSpec returns the labels, the annotations, and the spec of an Echo's child.
func metadataAndSpec(child client.Object) []any {
	GinkgoHelper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	Expect(err).NotTo(HaveOccurred())
	return []any{child.GetLabels(), child.GetAnnotations(), object["spec"]}
}

var _ = Describe("a converged Echo", func() {
	It("is reconciled again without a write, with characters that YAML rejects or changes", func(ctx SpecContext) {
		const body = "\u007f \u0080 \u0085 \u009f \u2028 \ufeff \uffff \U0001f600 \U0001ffff"
		echo := createReadyEcho(ctx,
			support.Echo(newNamespace(ctx), "unusual", func(e *v1.Echo) { e.Spec.Response = &v1.EchoResponse{StatusCode: 200, Body: body} }))
		Expect(deploymentNow(ctx, Default, echo.Namespace, echo.Name).Spec.Template.Spec.Containers[0].Env).To(
			ContainElement(corev1.EnvVar{Name: "ECHO_RESPONSE_BODY", Value: body}))
		expectNoWrite(ctx, echo)
	})

	It("is reconciled again without a write, with most fields set", func(ctx SpecContext) {
		expectNoWrite(ctx, createReadyEcho(ctx, support.Echo(newNamespace(ctx), "everything", everyServedField)))
	})
})

// expectNoWrite waits until the operator has nothing left to do for an Echo, and expects that three more reconciles send no requests.
func expectNoWrite(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	versions := func() []string {
		return []string{
			echoNow(ctx, Default, echo.Namespace, echo.Name).ResourceVersion,
			deploymentNow(ctx, Default, echo.Namespace, echo.Name).ResourceVersion,
			serviceNow(ctx, Default, echo.Namespace, echo.Name).ResourceVersion,
		}
	}
	requests := &atomic.Int64{}
	refusing := refusingClient(requests)
	expectQuietReconcile := func(g Gomega) {
		reconciler := controllers.EchoReconciler{Dependencies: underTest.Echoes.Dependencies,
			Gateways: underTest.Echoes.Gateways, Labeled: underTest.Echoes.Labeled}
		reconciler.Client = client.WithFieldValidation(refusing, "Strict")
		reconciler.Live = reconciler.Client
		cached := &v1.Echo{}
		g.Expect(underTest.GetClient().Get(ctx, client.ObjectKeyFromObject(echo), cached)).To(Succeed())
		g.Expect(cached.ResourceVersion).To(Equal(versions()[0]))
		g.Expect(cached.ManagedFields).To(BeEmpty(), "the cache must not hold what the operator does not read")
		requests.Store(0)
		_, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(requests.Load()).To(BeZero(), "requests in a reconcile of a converged Echo")
	}
	Eventually(expectQuietReconcile).WithContext(ctx).Should(Succeed())
	before := versions()
	for range 3 {
		expectQuietReconcile(Default)
	}
	Expect(versions()).To(Equal(before))
}

// refusingClient returns a client that reads objects only from the manager's cache. It counts all other requests instead of sending them.
func refusingClient(requests *atomic.Int64) client.Client {
	GinkgoHelper()
	refused := rest.CopyConfig(cluster)
	refused.Wrap(func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(*http.Request) (*http.Response, error) {
			requests.Add(1)
			return nil, errors.New("this client sends no requests")
		})
	})
	direct, err := client.New(refused, client.Options{
		Scheme: scheme, Mapper: underTest.GetClient().RESTMapper(),
		Cache: &client.CacheOptions{Reader: underTest.GetClient()},
	})
	Expect(err).NotTo(HaveOccurred())
	return direct
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
