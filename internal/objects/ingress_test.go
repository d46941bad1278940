package objects

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestIngress_defaults(t *testing.T) {
	got := builtIngress(t, v1.EchoIngress{}, false).Spec
	NewWithT(t).Expect(got.Rules[0].HTTP.Paths[0].Path).To(Equal("/"))
	NewWithT(t).Expect(got.IngressClassName).To(BeNil())
}

func TestIngress_tls(t *testing.T) {
	for name, c := range map[string]struct {
		ingress v1.EchoIngress
		routes  bool
		want    string // the expected host and Secret
	}{
		"without TLS":                          {v1.EchoIngress{Host: "a"}, false, "no entry"},
		"with a Secret, for all hosts":         {v1.EchoIngress{TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "s"}}, false, "[] s"},
		"with the default certificate":         {v1.EchoIngress{Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}, false, "[a] "},
		"with the default certificate, Routes": {v1.EchoIngress{Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}, true, "[] "},
	} {
		got := "no entry"
		for _, entry := range builtIngress(t, c.ingress, c.routes).Spec.TLS {
			got = fmt.Sprint(entry.Hosts, " ", entry.SecretName)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// builtIngress returns an Echo's Ingress as the API server stores it.
func builtIngress(t *testing.T, desired v1.EchoIngress, routes bool) *networkingv1.Ingress {
	t.Helper()
	desired.Enabled = new(true)
	built := ingress(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &desired }), Config{Routes: routes})
	return asConfiguration[networkingv1.Ingress](built)
}

// routeFor describes the certificate of the Route that OpenShift creates for an Ingress with one path: none, the certificate in the Secret,
// or the default certificate. The result is "no Route" if OpenShift creates none. See sync and tlsConfigForIngress in
// github.com/openshift/route-controller-manager/pkg/route/ingress/ingress.go.
func routeFor(ingress *networkingv1.Ingress, secretIsValid bool) string {
	rule := ingress.Spec.Rules[0]
	if rule.Host == "" || *rule.HTTP.Paths[0].PathType == networkingv1.PathTypeExact {
		return "no Route"
	}
	for _, entry := range ingress.Spec.TLS {
		switch {
		case slices.Contains(entry.Hosts, rule.Host) && !secretIsValid:
			return "no Route"
		case slices.Contains(entry.Hosts, rule.Host):
			return "certificate of " + entry.SecretName
		case len(entry.Hosts) == 0 && entry.SecretName == "":
			return "default certificate"
		}
	}
	return "no TLS"
}

func TestNoRoute(t *testing.T) {
	for name, c := range map[string]struct {
		ingress v1.EchoIngress
		secret  bool
		want    string
	}{
		"HTTP":                               {v1.EchoIngress{Host: "a"}, false, "no TLS"},
		"HTTP with a pattern":                {v1.EchoIngress{Host: "a", PathType: networkingv1.PathTypeImplementationSpecific}, false, "no TLS"},
		"without a host":                     {v1.EchoIngress{}, false, "no Route"},
		"with a Secret, without a host":      {v1.EchoIngress{TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "s"}}, true, "no Route"},
		"an exact path":                      {v1.EchoIngress{Host: "a", PathType: networkingv1.PathTypeExact}, false, "no Route"},
		"the default certificate":            {v1.EchoIngress{Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}, false, "default certificate"},
		"a certificate":                      {v1.EchoIngress{Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "s"}}, true, "certificate of s"},
		"a certificate that is not there":    {v1.EchoIngress{Host: "a", TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: "s"}}, false, "no Route"},
		"a wildcard and default certificate": {v1.EchoIngress{Host: "*.a", TLS: &v1.EchoIngressTLS{Enabled: new(true)}}, false, "default certificate"},
	} {
		ingress := builtIngress(t, c.ingress, true)
		NewWithT(t).Expect(routeFor(ingress, c.secret)).To(Equal(c.want), name)
		c.ingress.Enabled = new(true)
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &c.ingress })
		if got, want := NoRoute(echo, Config{Routes: true}), routeFor(ingress, true) == "no Route"; (got != "") != want {
			t.Errorf("%s: the message is %q", name, got)
		}
		NewWithT(t).Expect(NoRoute(echo, Config{})).To(BeEmpty(), name)
	}
}
