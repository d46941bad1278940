package routing

import (
	"testing"

	. "github.com/onsi/gomega"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

func ingressOf(change func(*v1.EchoIngress)) *networkingv1ac.IngressApplyConfiguration {
	desired := &v1.EchoIngress{Enabled: true, Host: "a.example.com"}
	change(desired)
	configuration, _ := Ingress(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = desired }),
		children.Config{}).(*networkingv1ac.IngressApplyConfiguration)
	return configuration
}

func TestIngressPathDefaultsToRoot(t *testing.T) {
	NewWithT(t).Expect(*ingressOf(func(*v1.EchoIngress) {}).Spec.Rules[0].HTTP.Paths[0].Path).To(Equal("/"))
}

func TestIngressTLS(t *testing.T) {
	NewWithT(t).Expect(ingressOf(func(*v1.EchoIngress) {}).Spec.TLS).To(BeNil(), "without tls")
	if got := ingressOf(func(i *v1.EchoIngress) { i.TLS = true }).Spec.TLS; len(got) != 1 || got[0].SecretName != nil || got[0].Hosts != nil {
		t.Errorf("with the default certificate of the router: %+v", got)
	}
	got := ingressOf(func(i *v1.EchoIngress) { i.TLS, i.TLSSecretName = true, "certificate" }).Spec.TLS
	if len(got) != 1 || *got[0].SecretName != "certificate" || got[0].Hosts[0] != "a.example.com" {
		t.Errorf("with a certificate of its own: %+v", got)
	}
}

func TestIngressClass(t *testing.T) {
	NewWithT(t).Expect(ingressOf(func(*v1.EchoIngress) {}).Spec.IngressClassName).To(BeNil(), "without a class")
	if got := ingressOf(func(i *v1.EchoIngress) { i.ClassName = "nginx" }).Spec.IngressClassName; *got != "nginx" {
		t.Errorf("with a class: %s", *got)
	}
}

func TestDisabledIngress(t *testing.T) {
	NewWithT(t).Expect(ingressOf(func(i *v1.EchoIngress) { i.Enabled = false })).To(BeNil(), "an Ingress that is disabled")
}
