package desired

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestDroppedTraffic(t *testing.T) {
	from := func(peers ...networkingv1.NetworkPolicyPeer) func(*v1.EchoSpec) {
		return func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true, From: peers} }
	}
	everything := func(s *v1.EchoSpec) {
		s.Ingress, s.Gateway, s.Monitoring = &v1.EchoIngress{Enabled: true}, &v1.EchoGateway{Enabled: true}, &v1.EchoMonitoring{Enabled: true}
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
