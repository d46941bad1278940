package echopod

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestPodSecurity(t *testing.T) {
	for port, sysctls := range map[int32]int{80: 1, 1023: 1, 1024: 0, 8080: 0} {
		if got := PodSecurity(&v1.EchoSpec{Port: port}); len(got.Sysctls) != sysctls || got.RunAsUser != nil || !*got.RunAsNonRoot {
			t.Errorf("port %d: %+v", port, got)
		}
	}
}

func TestPodSecurity_allowsHTTPSPortBelow1024(t *testing.T) {
	g := NewWithT(t)
	for port, sysctls := range map[int32]int{443: 1, 8443: 0} {
		spec := &v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{SecretName: "s", Port: port}}
		g.Expect(PodSecurity(spec).Sysctls).To(HaveLen(sysctls), "port %d", port)
	}
	g.Expect(PodSecurity(&v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{Port: 443}}).Sysctls).To(BeEmpty(), "without HTTPS")
}

func TestPodSecurity_givenContextReplacesDefault(t *testing.T) {
	pod := PodSecurity(&v1.EchoSpec{Port: 80, PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))}})
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
