package objects

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestContainer(t *testing.T) {
	config := Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}
	own := Container(support.Echo("ns", "x"), config)
	if *own.Image != config.Images.EchoServer || own.ReadinessProbe.HTTPGet == nil || own.Lifecycle != nil ||
		!*own.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the operator's own image is probed over HTTP and drains its connections: %+v", own)
	}
	other := Container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	if *other.Image != "nginx" || other.ReadinessProbe.TCPSocket == nil || *other.Lifecycle.PreStop.Sleep.Seconds != preStopSeconds ||
		*other.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("any other image is probed over TCP and given time to drain: %+v", other)
	}
}

// TestContainer_probesMetricsPort checks that probes do not use the port for requests, where many clients could crowd them out.
func TestContainer_probesMetricsPort(t *testing.T) {
	g := NewWithT(t)
	c := Container(support.Echo("ns", "x"), companionConfig)
	for path, probe := range map[string]*corev1ac.ProbeApplyConfiguration{"/readyz": c.ReadinessProbe, "/livez": c.LivenessProbe} {
		g.Expect(*probe.HTTPGet.Path).To(Equal(path))
		g.Expect(*probe.HTTPGet.Port).To(Equal(intstr.FromString("metrics")))
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
		NewWithT(t).Expect(memory(c.got)).To(Equal(c.want), name)
	}
	if requests := *resources(nil, true).Requests; requests.Cpu().String() != "10m" || requests.Memory().String() != "16Mi" {
		t.Errorf("the requests are %v", requests)
	}
}

func TestMetricsPort(t *testing.T) {
	g := NewWithT(t)
	config := Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}
	for port, want := range map[int32]int32{8080: 9090, 9090: 9091, 9091: 9090} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Port = port })
		c := Container(echo, config)
		g.Expect(c.Ports).To(HaveLen(2), "listening on %d", port)
		g.Expect(*c.Ports[1].ContainerPort).To(Equal(want), "listening on %d", port)
		address := valueOf(environment(echo, true, nil), "ECHO_ADMIN_ADDR")
		g.Expect(address).To(Equal(fmt.Sprintf(":%d", want)), "listening on %d", port)
	}
	other := Container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	g.Expect(other.Ports).To(HaveLen(1), "any other image has no metrics")
}

func TestPodSecurity(t *testing.T) {
	for port, sysctls := range map[int32]int{80: 1, 1023: 1, 1024: 0, 8080: 0} {
		if got := PodSecurityContext(&v1.EchoSpec{Port: port}); len(got.Sysctls) != sysctls || got.RunAsUser != nil || !*got.RunAsNonRoot {
			t.Errorf("port %d: %+v", port, got)
		}
	}
}

func TestPodSecurity_allowsHTTPSPortBelow1024(t *testing.T) {
	g := NewWithT(t)
	for port, sysctls := range map[int32]int{443: 1, 8443: 0} {
		spec := &v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{SecretName: "s", Port: port}}
		g.Expect(PodSecurityContext(spec).Sysctls).To(HaveLen(sysctls), "port %d", port)
	}
	g.Expect(PodSecurityContext(&v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{Port: 443}}).Sysctls).To(BeEmpty(), "without HTTPS")
}

func TestPodSecurity_givenContextReplacesDefault(t *testing.T) {
	pod := PodSecurityContext(&v1.EchoSpec{Port: 80, PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))}})
	if *pod.RunAsUser != 0 || pod.RunAsNonRoot != nil || pod.SeccompProfile != nil || pod.Sysctls != nil {
		t.Errorf("of the pod: %+v", pod)
	}
	container := ContainerSecurity(&corev1.SecurityContext{RunAsUser: new(int64(0))}, true)
	if *container.RunAsUser != 0 || container.ReadOnlyRootFilesystem != nil || container.Capabilities != nil {
		t.Errorf("of the container: %+v", container)
	}
}

func TestContainerSecurity_meetsRestrictedStandard(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		got := ContainerSecurity(nil, readOnly)
		if *got.AllowPrivilegeEscalation || *got.ReadOnlyRootFilesystem != readOnly || got.Capabilities.Drop[0] != "ALL" {
			t.Errorf("with a read-only root %t: %+v", readOnly, got)
		}
	}
}
