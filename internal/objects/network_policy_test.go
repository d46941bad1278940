package objects

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestNetworkPolicy_allowsOnlyRequestsAndScrapes(t *testing.T) {
	for port, metrics := range map[int32]int32{8080: 9090, 80: 9090, 9090: 9091} {
		got := liveChild[networkingv1.NetworkPolicy](t, support.Echo("ns", "x", func(e *v1.Echo) {
			e.Spec.Port, e.Spec.NetworkPolicy = port, &v1.EchoNetworkPolicy{Enabled: new(true)}
		}), testConfig).Spec
		allowed := func(number int32) networkingv1.NetworkPolicyPort {
			return networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(number))}
		}
		want := []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{allowed(port), allowed(metrics)},
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}} // all pods in the namespace
		NewWithT(t).Expect(got.Ingress).To(BeComparableTo(want), "port %d", port)
		if diff := cmp.Diff([]networkingv1.PolicyType{"Ingress", "Egress"}, got.PolicyTypes); diff != "" || len(got.Egress) != 0 {
			t.Errorf("port %d: outgoing traffic is allowed to %v: %s", port, got.Egress, diff)
		}
	}
}

func TestNetworkPolicy_allowsOnlyPeersOfFrom(t *testing.T) {
	peers := []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "gateway"}}},
		{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}},
	}
	got := liveChild[networkingv1.NetworkPolicy](t, support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true), From: peers}
	}), testConfig).Spec.Ingress
	if len(got) != 1 || len(got[0].Ports) != 2 { // a second rule would allow more than the first one does
		t.Fatalf("the rules are %+v", got)
	}
	NewWithT(t).Expect(got[0].From).To(BeComparableTo(peers))
}

func TestDroppedTraffic(t *testing.T) {
	from := func(peers ...networkingv1.NetworkPolicyPeer) func(*v1.EchoSpec) {
		return func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true), From: peers} }
	}
	everything := func(s *v1.EchoSpec) {
		s.Ingress, s.Gateway, s.Monitoring = &v1.EchoIngress{Enabled: new(true)}, &v1.EchoGateway{Enabled: new(true)}, &v1.EchoMonitoring{Enabled: new(true)}
		s.Service.Type = corev1.ServiceTypeLoadBalancer
	}
	service := func(kind corev1.ServiceType) func(*v1.EchoSpec) {
		return func(s *v1.EchoSpec) { s.Service.Type = kind }
	}
	pods := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{}}
	for name, c := range map[string]struct {
		changes []func(*v1.EchoSpec)
		want    []string
	}{
		"no policy":           {[]func(*v1.EchoSpec){everything}, nil},
		"a policy turned off": {[]func(*v1.EchoSpec){everything, func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{} }}, nil},
		"nothing leads in":    {[]func(*v1.EchoSpec){from()}, nil},
		"what is turned off": {[]func(*v1.EchoSpec){from(), func(s *v1.EchoSpec) {
			s.Ingress, s.Gateway, s.Monitoring = &v1.EchoIngress{}, &v1.EchoGateway{}, &v1.EchoMonitoring{}
		}}, nil},
		"everything":         {[]func(*v1.EchoSpec){everything, from()}, []string{"the Ingress", "the Gateways", "the load balancer", "Prometheus"}},
		"node ports":         {[]func(*v1.EchoSpec){service(corev1.ServiceTypeNodePort), from(pods)}, []string{"node ports"}},
		"inside the cluster": {[]func(*v1.EchoSpec){service(corev1.ServiceTypeClusterIP), from(pods)}, nil},
		"a namespace": {[]func(*v1.EchoSpec){everything, from(pods, networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{},
			PodSelector: &metav1.LabelSelector{}})}, nil},
		"addresses": {[]func(*v1.EchoSpec){everything, from(networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "::/0"}})}, nil},
	} {
		echo := support.Echo("ns", "x")
		for _, change := range c.changes {
			change(&echo.Spec)
		}
		NewWithT(t).Expect(DroppedTraffic(echo)).To(Equal(c.want), name)
	}
}
