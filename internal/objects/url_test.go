package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// acceptedBy returns an HTTPRoute for which a Gateway in the same namespace reports the given Accepted status.
func acceptedBy(gateway, listener string, accepted metav1.ConditionStatus) *gatewayv1.HTTPRoute {
	reference := gatewayv1.ParentReference{Name: gatewayv1.ObjectName(gateway)}
	if listener != "" {
		reference.SectionName = new(gatewayv1.SectionName(listener))
	}
	route := &gatewayv1.HTTPRoute{}
	route.Status.Parents = []gatewayv1.RouteParentStatus{
		{ParentRef: reference, Conditions: []metav1.Condition{{Type: "Accepted", Status: accepted}}}}
	return route
}

func listener(name string, protocol gatewayv1.ProtocolType, port gatewayv1.PortNumber, host string) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: protocol, Port: port}
	if host != "" {
		l.Hostname = new(gatewayv1.Hostname(host))
	}
	return l
}

func TestGatewayURL(t *testing.T) {
	plain, secure := listener("http", "HTTP", 80, ""), listener("https", "HTTPS", 443, "")
	for name, c := range map[string]struct {
		listeners []gatewayv1.Listener
		hostnames []string
		path      string
		section   string
		address   string
		refused   bool
		want      string
	}{
		"a name of the route": {listeners: []gatewayv1.Listener{plain}, hostnames: []string{"a.example.com"},
			want: "http://a.example.com"},
		"HTTPS first": {listeners: []gatewayv1.Listener{plain, secure}, hostnames: []string{"a.example.com"}, path: "/e/",
			want: "https://a.example.com/e"},
		"the listener that is named": {listeners: []gatewayv1.Listener{plain, secure}, section: "http",
			hostnames: []string{"a.example.com"}, want: "http://a.example.com"},
		"another port": {listeners: []gatewayv1.Listener{listener("x", "HTTP", 8080, "")},
			hostnames: []string{"a.example.com"}, want: "http://a.example.com:8080"},
		"a name of the listener": {listeners: []gatewayv1.Listener{listener("x", "HTTP", 80, "b.example.com")},
			want: "http://b.example.com"},
		"a name among those of a route": {listeners: []gatewayv1.Listener{listener("x", "HTTP", 80, "b.example.com")},
			hostnames: []string{"*.example.com"}, want: "http://b.example.com"},
		"a name among those of a listener": {listeners: []gatewayv1.Listener{listener("x", "HTTP", 80, "*.example.com")},
			hostnames: []string{"a.other.org", "a.example.com"}, want: "http://a.example.com"},
		"no name in common":  {listeners: []gatewayv1.Listener{listener("x", "HTTP", 80, "b.example.com")}, hostnames: []string{"a.example.com"}},
		"only a wildcard":    {listeners: []gatewayv1.Listener{plain}, hostnames: []string{"*.example.com"}, address: "192.0.2.1"},
		"an address":         {listeners: []gatewayv1.Listener{plain}, address: "192.0.2.1", want: "http://192.0.2.1"},
		"an IPv6 address":    {listeners: []gatewayv1.Listener{plain}, address: "2001:db8::1", want: "http://[2001:db8::1]"},
		"no address yet":     {listeners: []gatewayv1.Listener{plain}},
		"a listener for TCP": {listeners: []gatewayv1.Listener{listener("x", "TCP", 80, "")}, hostnames: []string{"a.example.com"}},
		"not accepted":       {listeners: []gatewayv1.Listener{plain}, hostnames: []string{"a.example.com"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			echo := support.Echo("ns", "x", func(e *v1.Echo) {
				e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: c.hostnames, Path: c.path,
					ParentRefs: []v1.EchoGatewayReference{{Name: "missing"}, {Name: "g", SectionName: c.section}}}
			})
			gateway := &gatewayv1.Gateway{Namespace: "ns", Name: "g",
				Spec: gatewayv1.GatewaySpec{Listeners: c.listeners}}
			if c.address != "" {
				gateway.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: c.address}}
			}
			accepted := metav1.ConditionTrue
			if c.refused {
				accepted = metav1.ConditionFalse
			}
			gateways := Gateways{client.ObjectKey{Namespace: "ns", Name: "g"}: gateway}
			NewWithT(t).Expect(ExternalURL(echo, nil, acceptedBy("g", c.section, accepted), gateways)).To(Equal(c.want))
		})
	}
}

func TestAdmits(t *testing.T) {
	from := func(from gatewayv1.FromNamespaces) *gatewayv1.RouteNamespaces {
		return &gatewayv1.RouteNamespaces{From: &from}
	}
	for name, c := range map[string]struct {
		allowed     *gatewayv1.AllowedRoutes
		same, other bool
	}{
		"nothing is said": {nil, true, false},
		"no namespaces":   {&gatewayv1.AllowedRoutes{}, true, false},
		"its own":         {&gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromSame)}, true, false},
		"all":             {&gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromAll)}, true, true},
		"by their labels": {&gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromSelector)}, true, true},
		"none":            {&gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromNone)}, false, false},
		"all, but of gRPC": {&gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromAll),
			Kinds: []gatewayv1.RouteGroupKind{{Kind: "GRPCRoute"}}}, false, false},
	} {
		for namespace, want := range map[string]bool{"ns": c.same, "other": c.other} {
			internal, public := listener("internal", "HTTP", 8080, ""), listener("public", "HTTP", 80, "")
			internal.AllowedRoutes, public.AllowedRoutes = c.allowed, &gatewayv1.AllowedRoutes{Namespaces: from(gatewayv1.NamespacesFromAll)}
			echo := support.Echo("ns", "x", func(e *v1.Echo) {
				e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), Hostnames: []string{"a.example.com"},
					ParentRefs: []v1.EchoGatewayReference{{Name: "g", Namespace: namespace}}}
			})
			gateway := &gatewayv1.Gateway{Namespace: namespace, Name: "g",
				Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{internal, public}}}
			route := acceptedBy("g", "", metav1.ConditionTrue)
			route.Status.Parents[0].ParentRef.Namespace = new(gatewayv1.Namespace(namespace))
			got := ExternalURL(echo, nil, route, Gateways{client.ObjectKeyFromObject(gateway): gateway})
			url := map[bool]string{true: "http://a.example.com:8080", false: "http://a.example.com"}[want]
			NewWithT(t).Expect(got).To(Equal(url), "%s, a Gateway in %s", name, namespace)
		}
	}
}

func TestGatewayKey_distinguishesNamespaces(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "g", Namespace: "other"}}}
	})
	said := RouteConditions(acceptedBy("g", "", "True").Status.RouteStatus, echo, echo.Spec.Gateway.ParentRefs[0])
	g.Expect(said).To(BeNil(), "the conditions for another Gateway were returned")
	policy := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{
		{AncestorRef: gatewayv1.ParentReference{Name: "h"}},
		{AncestorRef: gatewayv1.ParentReference{Name: "g", Namespace: new(gatewayv1.Namespace("third"))}},
		{AncestorRef: gatewayv1.ParentReference{Name: "g", Kind: new(gatewayv1.Kind("Mesh"))}},
		{AncestorRef: gatewayv1.ParentReference{Name: "g", SectionName: new(gatewayv1.SectionName("http"))},
			Conditions: []metav1.Condition{{Type: "Accepted"}}},
		{AncestorRef: gatewayv1.ParentReference{Name: "g", Namespace: new(gatewayv1.Namespace("other"))},
			Conditions: []metav1.Condition{{Type: "Accepted"}}}}}
	if reported := PolicyConditions(policy, echo, echo.Spec.Gateway.ParentRefs[0]); len(reported) != 2 || len(reported[0]) != 1 ||
		len(reported[1]) != 1 {
		t.Errorf("the reported conditions of the policy are %+v", reported)
	}
	gateway := &gatewayv1.Gateway{Namespace: "other", Name: "g"}
	g.Expect(AttachesTo(echo, gateway)).To(BeTrue(), "the Echo does not attach to its Gateway")
	gateway.Namespace = "ns"
	g.Expect(AttachesTo(echo, gateway)).To(BeFalse(), "the Echo attaches to another Gateway")
}

func TestExternalURL(t *testing.T) {
	balancer := func(port int32) func(*v1.Echo) {
		return func(e *v1.Echo) { e.Spec.Service.Type, e.Spec.Service.Port = corev1.ServiceTypeLoadBalancer, port }
	}
	at := func(addresses ...corev1.LoadBalancerIngress) *corev1.Service {
		return &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: addresses}}}
	}
	name, address, address6 := corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "192.0.2.1"},
		corev1.LoadBalancerIngress{IP: "2001:db8::1"}
	for _, c := range []struct {
		change  func(*v1.Echo)
		service *corev1.Service
		want    string
	}{
		{func(*v1.Echo) {}, at(address), ""},
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"} }, at(), ""},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", Path: "/"}
		}, at(address),
			"http://a.example.com"},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", Path: "/b", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}
		}, at(), "https://a.example.com/b"},
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true)} }, at(address), ""},
		{func(e *v1.Echo) {
			balancer(80)(e)
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true)}
		}, at(name), "http://lb.example.com"},
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "*.example.com"} }, at(address), ""},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", Path: "/b(/|$)(.*)", PathType: "ImplementationSpecific"}
		}, at(address), ""},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", Path: "/b/", PathType: "Exact"}
		}, at(), "http://a.example.com/b/"},
		{balancer(80), at(), ""},
		{balancer(80), at(corev1.LoadBalancerIngress{}, name), "http://lb.example.com"},
		{balancer(80), at(address, name), "http://192.0.2.1"},
		{balancer(80), at(address6), "http://[2001:db8::1]"},
		{balancer(81), at(address6), "http://[2001:db8::1]:81"},
	} {
		NewWithT(t).Expect(ExternalURL(support.Echo("ns", "x", c.change), c.service, nil, nil)).To(Equal(c.want))
	}
}
