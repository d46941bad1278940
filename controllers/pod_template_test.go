package controllers

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestFirstParty(t *testing.T) {
	const own = "registry.example.com:5000/mirror/echo-server@sha256:0123"
	for image, want := range map[string]bool{
		own: true,
		"registry.example.com:5000/mirror/echo-server":             true,
		"registry.example.com:5000/mirror/echo-server:v2":          true,
		"registry.example.com:5000/mirror/echo-server:v2@sha256:9": true,
		"registry.example.com/mirror/echo-server":                  false,
		"registry.example.com:5000/mirror/echo-server-fork:v2":     false,
		"nginx": false,
	} {
		if got := (Images{EchoServer: own}).firstParty(image); got != want {
			t.Errorf("firstParty(%s) = %t", image, got)
		}
	}
}

func TestContainer(t *testing.T) {
	images := Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}
	own := container(support.Echo("ns", "x"), images)
	if *own.Image != images.EchoServer || own.ReadinessProbe.HTTPGet == nil || own.Lifecycle != nil || !*own.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the operator's own image is probed over HTTP and drains by itself: %+v", own)
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), images)
	if *other.Image != "nginx" || other.ReadinessProbe.TCPSocket == nil || *other.Lifecycle.PreStop.Sleep.Seconds != preStopSeconds ||
		*other.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("any other image is probed over TCP and given time to drain: %+v", other)
	}
}

func TestEnvironment(t *testing.T) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Port = 9000
		e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":9"}, {Name: "B", Value: "b"}}
	})
	env := environment(echo, true)
	var names []string
	for _, e := range env {
		names = append(names, *e.Name)
	}
	want := []string{"POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME", "HOST_IP", "SERVICE_NAME", "ECHO_ADMIN_ADDR", "ECHO_HTTP_ADDR", "B"}
	if !slices.Equal(names, want) {
		t.Errorf("names are %v, want %v", names, want)
	}
	if got := valueOf(env, "ECHO_HTTP_ADDR"); got != ":9" {
		t.Errorf("ECHO_HTTP_ADDR is %q: what the Echo says must win", got)
	}
	echo.Spec.Env = nil
	if got := valueOf(environment(echo, true), "ECHO_HTTP_ADDR"); got != ":9000" {
		t.Errorf("ECHO_HTTP_ADDR is %q, want :9000", got)
	}
	if got := valueOf(environment(echo, false), "ECHO_HTTP_ADDR"); got != "" {
		t.Errorf("ECHO_HTTP_ADDR is %q in an image that does not know it", got)
	}
}

func valueOf(env []*corev1ac.EnvVarApplyConfiguration, name string) string {
	for _, e := range env {
		if *e.Name == name && e.Value != nil {
			return *e.Value
		}
	}
	return ""
}

func TestPodSecurity(t *testing.T) {
	for port, sysctls := range map[int32]int{80: 1, 1023: 1, 1024: 0, 8080: 0} {
		if got := podSecurity(&v1.EchoSpec{Port: port}); len(got.Sysctls) != sysctls || got.RunAsUser != nil || !*got.RunAsNonRoot {
			t.Errorf("port %d: %+v", port, got)
		}
	}
}

func TestMetricsPort(t *testing.T) {
	images := Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}
	for port, want := range map[int32]int32{8080: 9090, 9090: 9091, 9091: 9090} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Port = port })
		c := container(echo, images)
		if len(c.Ports) != 2 || *c.Ports[1].ContainerPort != want {
			t.Errorf("listening on %d: the ports are %+v", port, c.Ports)
		}
		if got := valueOf(environment(echo, true), "ECHO_ADMIN_ADDR"); got != fmt.Sprintf(":%d", want) {
			t.Errorf("listening on %d: ECHO_ADMIN_ADDR is %q", port, got)
		}
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), images)
	if len(other.Ports) != 1 {
		t.Errorf("any other image has no metrics: %+v", other.Ports)
	}
}
