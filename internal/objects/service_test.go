package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
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
