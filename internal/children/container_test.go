package children

import (
	"fmt"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

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

func TestMetricsPort(t *testing.T) {
	images := Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}
	for port, want := range map[int32]int32{8080: 9090, 9090: 9091, 9091: 9090} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Port = port })
		c := container(echo, images)
		if len(c.Ports) != 2 || *c.Ports[1].ContainerPort != want {
			t.Errorf("listening on %d: the ports are %+v", port, c.Ports)
		}
		if got := valueOf(environment(echo, true, nil), "ECHO_ADMIN_ADDR"); got != fmt.Sprintf(":%d", want) {
			t.Errorf("listening on %d: ECHO_ADMIN_ADDR is %q", port, got)
		}
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), images)
	if len(other.Ports) != 1 {
		t.Errorf("any other image has no metrics: %+v", other.Ports)
	}
}
