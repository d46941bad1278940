package children

import (
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestURL(t *testing.T) {
	for want, change := range map[string]func(*v1.Echo){
		"http://x.ns.svc":      func(*v1.Echo) {},
		"http://x.ns.svc:81":   func(e *v1.Echo) { e.Spec.Service.Port = 81 },
		"http://a.example.com": func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/"} },
		"https://a.example.com/b": func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/b", TLS: true}
		},
	} {
		if got := URL(support.Echo("ns", "x", change)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	off := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"} })
	if got := URL(off); got != "http://x.ns.svc" {
		t.Errorf("with an Ingress that is off: %s", got)
	}
}
