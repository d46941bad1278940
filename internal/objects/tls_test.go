package objects

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

// withTLS enables HTTPS with the default values for all fields except the name of the Secret.
func withTLS(e *v1.Echo) {
	e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate", Port: 8443, ServicePort: 443, ClientCertificate: v1.ClientCertificateNone}
}

// tlsVariables returns the variables that configure HTTPS.
func tlsVariables(echo *v1.Echo, required TLSProfile) map[string]string {
	env := map[string]string{}
	for _, e := range TLSEnvironment(echo, required) {
		env[*e.Name] = *e.Value
	}
	return env
}

func TestTLSEnvironment(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		wanted   *v1.EchoTLS
		required TLSProfile
		want     env
	}{
		"not configured":   {nil, TLSProfile{MinVersion: "VersionTLS13"}, env{}},
		"without a Secret": {&v1.EchoTLS{Port: 8443}, TLSProfile{MinVersion: "VersionTLS13"}, env{}},
		"a Secret": {&v1.EchoTLS{SecretName: "s", Port: 9443, ClientCertificate: v1.ClientCertificateNone}, TLSProfile{},
			env{"ECHO_TLS_ADDR": ":9443", "ECHO_TLS_DIR": "/etc/echo-server/tls", "ECHO_TLS_SECRET": "s"}},
		"clients, and a profile": {&v1.EchoTLS{SecretName: "s", Port: 8443, ClientCertificate: v1.ClientCertificateRequest},
			TLSProfile{MinVersion: "VersionTLS12", Ciphers: []string{"A", "B"}},
			env{"ECHO_TLS_ADDR": ":8443", "ECHO_TLS_DIR": "/etc/echo-server/tls", "ECHO_TLS_SECRET": "s", "ECHO_TLS_CLIENT_CERTIFICATE": "Request",
				"ECHO_TLS_MIN_VERSION": "VersionTLS12", "ECHO_TLS_CIPHERS": "A,B"}},
	} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.TLS = c.wanted })
		NewWithT(t).Expect(tlsVariables(echo, c.required)).To(BeComparableTo(c.want), name)
	}
}

// TestService_sendsHTTPSRequestsToContainer checks that the HTTPS port of the Service matches the container port, and that the directory in
// the environment variable matches the volume mount.
func TestService_sendsHTTPSRequestsToContainer(t *testing.T) {
	g := NewWithT(t)
	echo := support.EchoOfCompanions(withTLS, func(e *v1.Echo) { e.Spec.TLS.Port, e.Spec.TLS.ServicePort = 9443, 444 })
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server": liveDeployment(t, echo).Spec.Template.Spec, "a companion": liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec,
	} {
		server := spec.Containers[0]
		if port := server.Ports[len(server.Ports)-1]; port.Name != "https" || port.ContainerPort != 9443 {
			t.Errorf("%s has the ports %v", name, server.Ports)
		}
		want := []corev1.VolumeMount{{Name: "tls", MountPath: TLSFolder, ReadOnly: true}}
		g.Expect(server.VolumeMounts).To(BeComparableTo(want), name)
		source := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate", Optional: new(true)}}
		g.Expect(spec.Volumes).To(BeComparableTo([]corev1.Volume{{Name: "tls", VolumeSource: source}}), name)
		g.Expect(TLSSecret(&corev1.Pod{Spec: spec})).To(Equal("certificate"), name)
	}
	ports := liveChild[corev1.Service](t, echo, testConfig).Spec.Ports
	if len(ports) != 2 || ports[0].Name != "http" || ports[1].Name != "https" || ports[1].Port != 444 ||
		ports[1].TargetPort != intstr.FromString("https") {
		t.Errorf("the Service has the ports %v", ports)
	}
}

func TestHasTLS_requiresSecret(t *testing.T) {
	for name, desired := range map[string]*v1.EchoTLS{"not configured": nil, "as the console posts it": {Port: 8443, ServicePort: 443}} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.TLS = desired })
		spec := liveDeployment(t, echo).Spec.Template.Spec
		if len(spec.Volumes) != 0 || len(spec.Containers[0].VolumeMounts) != 0 || len(spec.Containers[0].Ports) != 2 ||
			TLSSecret(&corev1.Pod{Spec: spec}) != "" {
			t.Errorf("%s: the pods are %+v", name, spec)
		}
		NewWithT(t).Expect(liveChild[corev1.Service](t, echo, testConfig).Spec.Ports).To(HaveLen(1), name)
	}
}

// TestNetworkPolicy_allowsHTTPS checks that the policy allows traffic to the pods' HTTPS port, because NetworkPolicy rules apply to pod
// ports.
func TestNetworkPolicy_allowsHTTPS(t *testing.T) {
	echo := support.Echo("ns", "x", withTLS, func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true} })
	var got []int32
	for _, port := range liveChild[networkingv1.NetworkPolicy](t, echo, testConfig).Spec.Ingress[0].Ports {
		got = append(got, port.Port.IntVal)
	}
	NewWithT(t).Expect(got).To(BeComparableTo([]int32{8080, 9090, 8443}))
}

// TestAddTLS_mountsCertificateForOtherImages checks an Echo whose image is not the operator's, because such an image may also serve HTTPS.
func TestAddTLS_mountsCertificateForOtherImages(t *testing.T) {
	server := liveDeployment(t, support.Echo("ns", "x", withTLS, func(e *v1.Echo) { e.Spec.Image = "nginx" })).Spec.Template.Spec.Containers[0]
	if len(server.Ports) != 2 || server.Ports[1].Name != "https" || len(server.VolumeMounts) != 1 ||
		!slices.Contains(server.Env, corev1.EnvVar{Name: "ECHO_TLS_ADDR", Value: ":8443"}) {
		t.Errorf("got %+v", server)
	}
}
