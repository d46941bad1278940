package objects

import (
	"errors"
	"strings"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestValidateFields(t *testing.T) {
	tls := func(port, https, service, servicePort int32) v1.EchoSpec {
		return v1.EchoSpec{Port: port, Service: v1.EchoService{Port: service},
			TLS: &v1.EchoTLS{SecretName: "s", Port: https, ServicePort: servicePort}}
	}
	hosts := func(http, grpc string) v1.EchoSpec {
		return v1.EchoSpec{Gateway: &v1.EchoGateway{Enabled: true, Hostnames: []string{"x.example.org", http},
			GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{"y.example.org", grpc}}}}
	}
	backend := func(enabled bool, tls *v1.EchoTLS) v1.EchoSpec {
		return v1.EchoSpec{TLS: tls, Gateway: &v1.EchoGateway{Enabled: enabled, BackendTLS: &v1.EchoGatewayBackendTLS{}}}
	}
	withoutSecret, disabled := tls(8443, 8443, 443, 443), hosts("a.example.com", "a.example.com")
	withoutSecret.TLS.SecretName, disabled.Gateway.Enabled = "", false
	for name, c := range map[string]struct {
		spec v1.EchoSpec
		want string // a part of the expected message
	}{
		"no TLS, no gateway":                         {v1.EchoSpec{Port: 8080}, ""},
		"HTTPS on the default ports":                 {tls(8080, 0, 80, 0), ""},
		"HTTPS on other ports":                       {tls(8443, 8080, 443, 80), ""},
		"HTTPS on the port for HTTP":                 {tls(8080, 8080, 80, 0), "spec.tls.port is 8080, the same port as spec.port. Set"},
		"HTTP on the default port for HTTPS":         {tls(8443, 0, 80, 0), "spec.tls.port is 8443 by default, the same port as spec.port. Set"},
		"HTTPS on the port for metrics":              {tls(8080, 9090, 80, 0), "spec.tls.port is 9090, which is the metrics port of the echo server"},
		"HTTPS on the port to which metrics move":    {tls(9090, 9091, 80, 0), "spec.tls.port is 9091, which is the metrics port of the echo server"},
		"HTTPS on the port that the metrics do not":  {tls(8080, 9091, 80, 0), ""},
		"one port of the Service":                    {tls(8080, 0, 8443, 8443), "spec.tls.servicePort is 8443, the same port as spec.service.port. Set"},
		"one port of the Service, the default":       {tls(8080, 0, 443, 0), "spec.tls.servicePort is 443 by default, the same port as spec.service.port"},
		"the same ports without a Secret":            {withoutSecret, ""},
		"HTTPS from Gateways":                        {backend(true, &v1.EchoTLS{SecretName: "s"}), ""},
		"HTTPS from Gateways without TLS":            {backend(true, nil), "Set spec.tls.secretName, or remove spec.gateway.backendTLS."},
		"HTTPS from Gateways without a Secret":       {backend(true, &v1.EchoTLS{}), "spec.gateway.backendTLS requires a certificate"},
		"HTTPS from a gateway that is off":           {backend(false, nil), ""},
		"other host names":                           {hosts("a.example.com", "b.example.com"), ""},
		"the same host name":                         {hosts("a.example.com", "a.example.com"), "a.example.com in spec.gateway.grpc.hostnames overlaps a"},
		"a wildcard over gRPC":                       {hosts("*.example.com", "a.b.example.com"), "overlaps *.example.com in spec.gateway.hostnames. Change"},
		"a wildcard of gRPC":                         {hosts("a.example.com", "*.example.com"), "*.example.com in spec.gateway.grpc.hostnames overlaps"},
		"a wildcard over a wildcard":                 {hosts("*.example.com", "*.a.example.com"), "*.a.example.com in spec.gateway.grpc.hostnames"},
		"a wildcard over another domain":             {hosts("*.example.com", "a.badexample.com"), ""},
		"a wildcard and its domain":                  {hosts("*.example.com", "example.com"), ""},
		"overlapping names of a gateway that is off": {disabled, ""},
	} {
		err := ValidateFields(&v1.Echo{Spec: c.spec})
		if c.want == "" && err == nil {
			continue
		}
		if c.want == "" || !errors.As(err, new(*InvalidSpecError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestPolicy_refusesFieldsThatExcludeEachOther(t *testing.T) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Port, e.Spec.TLS = 8080, &v1.EchoTLS{SecretName: "s", Port: 8080} })
	if err := (Policy{MaxReplicas: 20}).Check(echo); !errors.As(err, new(*InvalidSpecError)) {
		t.Errorf("got %v", err)
	}
}
