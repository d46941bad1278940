package desired

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/apply"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestService(t *testing.T) {
	selector := map[string]string{"app.kubernetes.io/name": "echo", "app.kubernetes.io/instance": "x"}
	ports := func(number int32) []corev1.ServicePort {
		return []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromString("http")}}
	}
	for name, c := range map[string]struct {
		wanted v1.EchoService
		want   corev1.ServiceSpec
	}{
		"default": {v1.EchoService{Type: "ClusterIP", Port: 80}, corev1.ServiceSpec{Type: "ClusterIP", Selector: selector, Ports: ports(80)}},
		"of nodes": {v1.EchoService{Type: "NodePort", Port: 81, ExternalTrafficPolicy: "Local"},
			corev1.ServiceSpec{Type: "NodePort", Selector: selector, Ports: ports(81), ExternalTrafficPolicy: "Local"}},
		"of a load balancer": {v1.EchoService{Type: "LoadBalancer", Port: 65535, LoadBalancerClass: "example.com/class"},
			corev1.ServiceSpec{Type: "LoadBalancer", Selector: selector, Ports: ports(65535), LoadBalancerClass: new("example.com/class")}},
		"for some clients": {v1.EchoService{Type: "LoadBalancer", Port: 80, LoadBalancerSourceRanges: []string{"10.0.0.0/8", "fd00::/8"}},
			corev1.ServiceSpec{Type: "LoadBalancer", Selector: selector, Ports: ports(80),
				LoadBalancerSourceRanges: []string{"10.0.0.0/8", "fd00::/8"}}},
		"of two IP families": {v1.EchoService{Type: "ClusterIP", Port: 80, IPFamilies: []corev1.IPFamily{"IPv6", "IPv4"},
			IPFamilyPolicy: "PreferDualStack"},
			corev1.ServiceSpec{Type: "ClusterIP", Selector: selector, Ports: ports(80), IPFamilies: []corev1.IPFamily{"IPv6", "IPv4"},
				IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack)}},
		"with a port of its own name and protocol": {v1.EchoService{Type: "ClusterIP", Port: 80, PortName: "web", AppProtocol: "kubernetes.io/h2c"},
			corev1.ServiceSpec{Type: "ClusterIP", Selector: selector, Ports: []corev1.ServicePort{{Name: "web", Protocol: corev1.ProtocolTCP,
				AppProtocol: new("kubernetes.io/h2c"), Port: 80, TargetPort: intstr.FromString("http")}}}},
		"to one pod each": {v1.EchoService{Type: "ClusterIP", Port: 80, InternalTrafficPolicy: "Local", SessionAffinity: "ClientIP"},
			corev1.ServiceSpec{Type: "ClusterIP", Selector: selector, Ports: ports(80), SessionAffinity: "ClientIP",
				InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyLocal)}},
	} {
		t.Run(name, func(t *testing.T) {
			live := liveChild[corev1.Service](t, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Service = c.wanted }), testConfig)
			NewWithT(t).Expect(live.Spec).To(BeComparableTo(c.want))
		})
	}
}

// TestService_sendsRequestsToContainer checks that the Service targets the container's HTTP port, whatever its number, and that the Ingress
// sends requests to the Service.
func TestService_sendsRequestsToContainer(t *testing.T) {
	for _, change := range []func(*v1.Echo){func(*v1.Echo) {}, support.EveryField} {
		echo := support.Echo("ns", "x", change)
		reached := int32(0)
		for _, port := range liveDeployment(t, echo).Spec.Template.Spec.Containers[0].Ports {
			if port.Name == liveChild[corev1.Service](t, echo, testConfig).Spec.Ports[0].TargetPort.StrVal {
				reached = port.ContainerPort
			}
		}
		NewWithT(t).Expect(reached).To(Equal(echo.Spec.Port))
	}
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true} })
	backend := liveChild[networkingv1.Ingress](t, echo, testConfig).Spec.Rules[0].HTTP.Paths[0].Backend.Service
	if live := liveChild[corev1.Service](t, echo, testConfig); backend.Name != live.Name || backend.Port.Number != live.Spec.Ports[0].Port {
		t.Errorf("the Ingress sends requests to %s:%d", backend.Name, backend.Port.Number)
	}
}

func TestService_setsAnnotations(t *testing.T) {
	g := NewWithT(t)
	live := liveChild[corev1.Service](t, support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Service.Annotations = map[string]string{"example.com/internal": "true"}
	}), testConfig)
	g.Expect(live.Annotations).To(HaveLen(1))
	g.Expect(live.Annotations["example.com/internal"]).To(Equal("true"))
}

// serviceOf returns the Service of an Echo that sets the given IP family policy and IP families.
func serviceOf(t *testing.T, policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) children.Child {
	return childOf(t, "Service", func(e *v1.Echo) {
		e.Spec.Service = v1.EchoService{Type: corev1.ServiceTypeClusterIP, Port: 80, IPFamilyPolicy: policy, IPFamilies: families}
	})
}

const (
	single, prefer, require = corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack
	four, six               = corev1.IPv4Protocol, corev1.IPv6Protocol
)

// TestRecreateForFamilies checks which changes require the Service to be recreated. The primary IP family cannot be changed, and the API
// server keeps fields that are no longer set.
func TestRecreateForFamilies(t *testing.T) {
	for name, c := range map[string]struct {
		before, after children.Child
		replaced      bool
	}{
		"another primary one":        {serviceOf(t, single, four), serviceOf(t, single, six), true},
		"the other way round":        {serviceOf(t, prefer, four, six), serviceOf(t, prefer, six, four), true},
		"a second one":               {serviceOf(t, single, four), serviceOf(t, prefer, four, six), false},
		"no second one":              {serviceOf(t, prefer, four, six), serviceOf(t, single, four), false},
		"the same":                   {serviceOf(t, prefer, four, six), serviceOf(t, require, four, six), false},
		"none anymore":               {serviceOf(t, single, four), serviceOf(t, single), true},
		"some":                       {serviceOf(t, single), serviceOf(t, single, four), false},
		"no policy, after two":       {serviceOf(t, prefer), serviceOf(t, ""), true},
		"no policy, after one":       {serviceOf(t, single), serviceOf(t, ""), false},
		"a policy":                   {serviceOf(t, ""), serviceOf(t, require), false},
		"the policy of one":          {serviceOf(t, require), serviceOf(t, single), false},
		"none at any time":           {serviceOf(t, ""), serviceOf(t, ""), false},
		"a policy, the families not": {serviceOf(t, ""), serviceOf(t, prefer, six), false},
	} {
		if got, err := apply.Compare(c.after, store(t, c.before).live(t)); got.Replace != c.replaced || err != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestRecreateForFamilies_keepsForeignPolicy(t *testing.T) {
	s := store(t, serviceOf(t, ""))
	edit(t, s, func(s *corev1.Service) {
		s.Spec.IPFamilyPolicy, s.Spec.IPFamilies = new(prefer), []corev1.IPFamily{six, four}
	})
	s.expectMatch(t, serviceOf(t, ""), true)
	other := serviceOf(t, "")
	other.Desired.SetAnnotations(map[string]string{"a": "b"})
	if got, err := apply.Compare(other, s.live(t)); got.Replace || got.None || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestWithSecondFamily covers dual-stack policies, for which the API server adds the second family to the list.
func TestWithSecondFamily(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		wanted   children.Child
		live     []corev1.IPFamily
		families []string
	}{
		"added":                         {serviceOf(t, prefer, six), []corev1.IPFamily{six, four}, []string{"IPv6", "IPv4"}},
		"added by the policy of others": {serviceOf(t, "", six), []corev1.IPFamily{six, four}, []string{"IPv6", "IPv4"}},
		"not desired":                   {serviceOf(t, single, six), []corev1.IPFamily{six, four}, []string{"IPv6"}},
		"a cluster of one":              {serviceOf(t, prefer, six), []corev1.IPFamily{six}, []string{"IPv6"}},
		"another primary one":           {serviceOf(t, prefer, four), []corev1.IPFamily{six, four}, []string{"IPv4"}},
		"none desired":                  {serviceOf(t, prefer), []corev1.IPFamily{six, four}, nil},
		"both desired":                  {serviceOf(t, prefer, six, four), []corev1.IPFamily{six}, []string{"IPv6", "IPv4"}},
	} {
		before := c.wanted.Desired.DeepCopy()
		got := c.wanted.WithLive(&corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: c.live}})
		g.Expect(ipFamilies(got.Desired.Object)).To(HaveExactElements(c.families), name)
		g.Expect(ipFamilies(before.Object)).To(HaveExactElements(ipFamilies(c.wanted.Desired.Object)), "%s: the desired object was changed", name)
	}
	s := store(t, serviceOf(t, prefer, six))
	s.apply(t, serviceOf(t, prefer, six).WithLive(&corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{six, four}}}))
	s.expectMatch(t, serviceOf(t, prefer, six).WithLive(s.live(t)), true)
}
