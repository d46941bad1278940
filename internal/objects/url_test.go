package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestURL(t *testing.T) {
	for want, change := range map[string]func(*v1.Echo){
		"http://x.ns.svc":    func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/"} },
		"http://x.ns.svc:81": func(e *v1.Echo) { e.Spec.Service.Port = 81 },
	} {
		NewWithT(t).Expect(URL(support.Echo("ns", "x", change))).To(Equal(want))
	}
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
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/"} }, at(address),
			"http://a.example.com"},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/b", TLS: true}
		}, at(), "https://a.example.com/b"},
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true} }, at(address), ""},
		{func(e *v1.Echo) {
			balancer(80)(e)
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true}
		}, at(name), "http://lb.example.com"},
		{func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "*.example.com"} }, at(address), ""},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/b(/|$)(.*)", PathType: "ImplementationSpecific"}
		}, at(address), ""},
		{func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/b/", PathType: "Exact"}
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
