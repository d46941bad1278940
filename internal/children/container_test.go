package children

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestContainer(t *testing.T) {
	config := Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}
	own := container(support.Echo("ns", "x"), config)
	if *own.Image != config.Images.EchoServer || own.ReadinessProbe.HTTPGet == nil || own.Lifecycle != nil || !*own.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the operator's own image is probed over HTTP and drains by itself: %+v", own)
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	if *other.Image != "nginx" || other.ReadinessProbe.TCPSocket == nil || *other.Lifecycle.PreStop.Sleep.Seconds != preStopSeconds ||
		*other.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("any other image is probed over TCP and given time to drain: %+v", other)
	}
}

// TestProbesOfTheEchoServer: on the port for requests, a crowd of clients could take the place of the kubelet.
func TestProbesOfTheEchoServer(t *testing.T) {
	c := container(support.Echo("ns", "x"), testConfig)
	for path, probe := range map[string]*corev1ac.ProbeApplyConfiguration{"/readyz": c.ReadinessProbe, "/livez": c.LivenessProbe} {
		if *probe.HTTPGet.Path != path || *probe.HTTPGet.Port != intstr.FromString("metrics") {
			t.Errorf("got %s on port %v, want %s on the port for metrics", *probe.HTTPGet.Path, probe.HTTPGet.Port, path)
		}
	}
}

func TestResources(t *testing.T) {
	memory := func(r *corev1ac.ResourceRequirementsApplyConfiguration) string {
		if r.Limits == nil {
			return "none"
		}
		return r.Limits.Memory().String()
	}
	given := &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
	for name, c := range map[string]struct {
		got  *corev1ac.ResourceRequirementsApplyConfiguration
		want string
	}{
		"the echo server":        {resources(nil, true), "64Mi"},
		"another image":          {resources(nil, false), "none"},
		"the given ones replace": {resources(given, true), "none"},
		"even none do":           {resources(&corev1.ResourceRequirements{}, true), "none"},
	} {
		if got := memory(c.got); got != c.want {
			t.Errorf("%s: the limit is %s, want %s", name, got, c.want)
		}
	}
	if requests := *resources(nil, true).Requests; requests.Cpu().String() != "10m" || requests.Memory().String() != "16Mi" {
		t.Errorf("the requests are %v", requests)
	}
}

func TestMetricsPort(t *testing.T) {
	config := Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}
	for port, want := range map[int32]int32{8080: 9090, 9090: 9091, 9091: 9090} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Port = port })
		c := container(echo, config)
		if len(c.Ports) != 2 || *c.Ports[1].ContainerPort != want {
			t.Errorf("listening on %d: the ports are %+v", port, c.Ports)
		}
		if got := valueOf(environment(echo, true, nil), "ECHO_ADMIN_ADDR"); got != fmt.Sprintf(":%d", want) {
			t.Errorf("listening on %d: ECHO_ADMIN_ADDR is %q", port, got)
		}
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	if len(other.Ports) != 1 {
		t.Errorf("any other image has no metrics: %+v", other.Ports)
	}
}
