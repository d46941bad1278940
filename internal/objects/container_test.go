package objects

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestContainer(t *testing.T) {
	config := Config{Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}}
	own := container(support.Echo("ns", "x"), config)
	if *own.Image != config.Images.EchoServer || own.ReadinessProbe.HTTPGet == nil || own.Lifecycle != nil ||
		!*own.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the operator's own image is probed over HTTP and drains its connections: %+v", own)
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	if *other.Image != "nginx" || other.ReadinessProbe.TCPSocket == nil || *other.Lifecycle.PreStop.Sleep.Seconds != preStopSeconds ||
		*other.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("any other image is probed over TCP and given time to drain: %+v", other)
	}
}

// TestContainer_probesMetricsPort checks that probes do not use the port for requests, where many clients could crowd them out.
func TestContainer_probesMetricsPort(t *testing.T) {
	g := NewWithT(t)
	c := container(support.Echo("ns", "x"), companionConfig)
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
		c := container(echo, config)
		g.Expect(c.Ports).To(HaveLen(2), "listening on %d", port)
		g.Expect(*c.Ports[1].ContainerPort).To(Equal(want), "listening on %d", port)
		address := valueOf(environment(echo, true, nil), "ECHO_ADMIN_ADDR")
		g.Expect(address).To(Equal(fmt.Sprintf(":%d", want)), "listening on %d", port)
	}
	other := container(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Image = "nginx" }), config)
	g.Expect(other.Ports).To(HaveLen(1), "any other image has no metrics")
}

func TestPodSecurity(t *testing.T) {
	for port, sysctls := range map[int32]int{80: 1, 1023: 1, 1024: 0, 8080: 0} {
		if got := podSecurityContext(&v1.EchoSpec{Port: port}); len(got.Sysctls) != sysctls || got.RunAsUser != nil || !*got.RunAsNonRoot {
			t.Errorf("port %d: %+v", port, got)
		}
	}
}

func TestPodSecurity_allowsHTTPSPortBelow1024(t *testing.T) {
	g := NewWithT(t)
	for port, sysctls := range map[int32]int{443: 1, 8443: 0} {
		spec := &v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{SecretName: "s", Port: port}}
		g.Expect(podSecurityContext(spec).Sysctls).To(HaveLen(sysctls), "port %d", port)
	}
	g.Expect(podSecurityContext(&v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{Port: 443}}).Sysctls).To(BeEmpty(), "without HTTPS")
}

func TestPodSecurity_givenContextReplacesDefault(t *testing.T) {
	pod := podSecurityContext(&v1.EchoSpec{Port: 80, PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))}})
	if *pod.RunAsUser != 0 || pod.RunAsNonRoot != nil || pod.SeccompProfile != nil || pod.Sysctls != nil {
		t.Errorf("of the pod: %+v", pod)
	}
	container := containerSecurity(&corev1.SecurityContext{RunAsUser: new(int64(0))}, true)
	if *container.RunAsUser != 0 || container.ReadOnlyRootFilesystem != nil || container.Capabilities != nil {
		t.Errorf("of the container: %+v", container)
	}
}

func TestContainerSecurity_meetsRestrictedStandard(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		got := containerSecurity(nil, readOnly)
		if *got.AllowPrivilegeEscalation || *got.ReadOnlyRootFilesystem != readOnly || got.Capabilities.Drop[0] != "ALL" {
			t.Errorf("with a read-only root %t: %+v", readOnly, got)
		}
	}
}

func TestEnvironment(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Port = 9000
		e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":9"}, {Name: "B", Value: "b"}}
	})
	env := environment(echo, true, serviceEnvironment(echo))
	var names []string
	for _, e := range env {
		names = append(names, *e.Name)
	}
	want := []string{"POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME", "HOST_IP", "SERVICE_NAME", "ECHO_ADMIN_ADDR", "ECHO_HTTP_ADDR", "B"}
	g.Expect(names).To(HaveExactElements(want))
	g.Expect(valueOf(env, "ECHO_HTTP_ADDR")).To(Equal(":9"), "the Echo's value must take precedence")
	echo.Spec.Env = nil
	g.Expect(valueOf(environment(echo, true, nil), "ECHO_HTTP_ADDR")).To(Equal(":9000"))
	g.Expect(valueOf(environment(echo, false, nil), "ECHO_HTTP_ADDR")).To(BeEmpty(), "another image gets ECHO_HTTP_ADDR")
}

// TestEnvironment_omitsServerDefaults checks that only fields with non-default values become variables. The pods of Echoes without such
// values must not change.
func TestEnvironment_omitsServerDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		wanted v1.EchoServer
		want   [2]string // the values of ECHO_CONTROLS and ECHO_IDENTITY
	}{
		"not configured":       {v1.EchoServer{}, [2]string{}},
		"defaults":             {v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)}, [2]string{}},
		"all controls":         {v1.EchoServer{Controls: v1.ControlsFull}, [2]string{"Full", ""}},
		"for the open network": {v1.EchoServer{Controls: v1.ControlsNone, Identity: new(false)}, [2]string{"None", "false"}},
	} {
		env := environment(support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Server = c.wanted }), false, nil)
		NewWithT(t).Expect([2]string{valueOf(env, "ECHO_CONTROLS"), valueOf(env, "ECHO_IDENTITY")}).To(Equal(c.want), name)
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

func TestResponse(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		wanted *v1.EchoResponse
		want   env
	}{
		"not configured": {nil, env{}},
		"empty":          {&v1.EchoResponse{}, env{}},
		"a status":       {&v1.EchoResponse{StatusCode: 503}, env{"ECHO_RESPONSE_STATUS": "503"}},
		"a delay":        {&v1.EchoResponse{DelayMilliseconds: 30000}, env{"ECHO_RESPONSE_DELAY": "30000ms"}},
		"a body":         {&v1.EchoResponse{Body: "a\nb"}, env{"ECHO_RESPONSE_BODY": "a\nb"}},
		"headers": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-A", Value: `a "b"`}, {Name: "X-A"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-A","value":"a \"b\""},{"name":"X-A"}]`}},
		"faults": {
			&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, StatusCode: 503, Failures: 2},
				{Percentage: 5, Connection: v1.ConnectionReset}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"statusCode":503,"failures":2},{"percentage":5,"connection":"Reset"}]`}},
		"a range of delays": {&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, DelayMilliseconds: 10, MaxDelayMilliseconds: 90}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"delayMilliseconds":10,"maxDelayMilliseconds":90}]`}},
		"a reference in the body": {&v1.EchoResponse{Body: "$(POD_NAME) costs $5, $$"},
			env{"ECHO_RESPONSE_BODY": "$$(POD_NAME) costs $$5, $$$$"}},
		"a reference in a header": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-$", Value: "$(HOST_IP)"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-$$","value":"$$(HOST_IP)"}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := env{}
			for _, e := range response(c.wanted) {
				got[*e.Name] = *e.Value
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}

// TestResponse_longestFitsIntoContainer checks the longest response that the schema accepts. Linux limits each environment variable to 128
// KiB, and a container with a longer variable cannot be started.
func TestResponse_longestFitsIntoContainer(t *testing.T) {
	quotes := v1.EchoHeader{Name: "a", Value: strings.Repeat(`"`, 1874)} // 32 such headers have 60,000 bytes in total
	all := append(response(&v1.EchoResponse{Body: strings.Repeat("$", 65536)}),
		response(&v1.EchoResponse{Body: strings.Repeat("語", 43666), Headers: slices.Repeat([]v1.EchoHeader{quotes}, 32)})...)
	for _, e := range all {
		started := strings.ReplaceAll(*e.Value, "$$", "$") // as the kubelet expands the value
		if size := len(*e.Name + "=" + started + "\x00"); size > 128*1024 {
			t.Errorf("%s has %d bytes", *e.Name, size)
		}
	}
}

// withTLS enables HTTPS with the default values for all fields except the name of the Secret.
func withTLS(e *v1.Echo) {
	e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate", Port: 8443, ServicePort: 443, ClientCertificate: v1.ClientCertificateNone}
}

// tlsVariables returns the variables that configure HTTPS.
func tlsVariables(echo *v1.Echo, required TLSProfile) map[string]string {
	env := map[string]string{}
	for _, e := range tlsEnvironment(echo, required) {
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
		want := []corev1.VolumeMount{{Name: "tls", MountPath: tlsFolder, ReadOnly: true}}
		g.Expect(server.VolumeMounts).To(BeComparableTo(want), name)
		source := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate", Optional: new(true)}}
		g.Expect(spec.Volumes).To(BeComparableTo([]corev1.Volume{{Name: "tls", VolumeSource: source}}), name)
		g.Expect(PodOf(&corev1.Pod{Spec: spec}).TLSSecret).To(Equal("certificate"), name)
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
			PodOf(&corev1.Pod{Spec: spec}).TLSSecret != "" {
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

// TestContainer_mountsCertificateForOtherImages checks an Echo whose image is not the operator's, because such an image may also serve HTTPS.
func TestContainer_mountsCertificateForOtherImages(t *testing.T) {
	server := liveDeployment(t, support.Echo("ns", "x", withTLS, func(e *v1.Echo) { e.Spec.Image = "nginx" })).Spec.Template.Spec.Containers[0]
	if len(server.Ports) != 2 || server.Ports[1].Name != "https" || len(server.VolumeMounts) != 1 ||
		!slices.Contains(server.Env, corev1.EnvVar{Name: "ECHO_TLS_ADDR", Value: ":8443"}) {
		t.Errorf("got %+v", server)
	}
}

func TestPodSpec_noCredentialsButTimeToDrain(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server":       liveDeployment(t, support.Echo("ns", "x")).Spec.Template.Spec,
		"one with an identity": liveDeployment(t, support.Echo("ns", "x", support.EveryField)).Spec.Template.Spec,
		"a companion":          liveCompanion(t, support.PodWithCompanionLabel(), support.EchoOfCompanions()).Spec,
	} {
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s has a token of the API server", name)
		}
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			t.Errorf("%s shows the Services of its namespace to every client that sends a request", name)
		}
		if spec.TerminationGracePeriodSeconds == nil || *spec.TerminationGracePeriodSeconds < 5+20 {
			t.Errorf("%s is killed after %v s, before it has drained its connections", name, spec.TerminationGracePeriodSeconds)
		}
	}
}

// TestCompanion_differsOnlyInPlacement compares an Echo's pods with its companions. They must differ only in where they run, and in the
// variables that name a Service or an Ingress, because companions have neither.
func TestCompanion_differsOnlyInPlacement(t *testing.T) {
	differ := []string{"Affinity", "NodeSelector", "PriorityClassName", "Tolerations", "TopologySpreadConstraints"}
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		fields []string // the fields that are expected to differ
	}{
		"minimal": {func(*v1.Echo) {}, []string{"Affinity", "Tolerations", "TopologySpreadConstraints"}},
		// the same toleration
		"everything": {support.EveryField, []string{"Affinity", "NodeSelector", "PriorityClassName", "TopologySpreadConstraints"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := support.EchoOfCompanions(c.change)
			own, companion := liveDeployment(t, echo).Spec.Template.Spec, liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec
			own.Containers[0].Env = slices.DeleteFunc(own.Containers[0].Env, func(e corev1.EnvVar) bool {
				return e.Name == "SERVICE_NAME" || e.Name == "INGRESS_NAME"
			})
			var got []string
			for _, field := range differ {
				a, b := reflect.ValueOf(&own).Elem().FieldByName(field), reflect.ValueOf(&companion).Elem().FieldByName(field)
				if !cmp.Equal(a.Interface(), b.Interface()) {
					got = append(got, field)
				}
				a.SetZero()
				b.SetZero()
			}
			g.Expect(got).To(BeComparableTo(c.fields), "where they run")
			g.Expect(companion).To(BeComparableTo(own), "what they run")
		})
	}
}

func TestPodTemplate_copiesSchedulingFields(t *testing.T) {
	spec := liveDeployment(t, support.Echo("ns", "x", support.EveryField)).Spec.Template.Spec
	desired := support.Echo("ns", "x", support.EveryField).Spec
	got := corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Affinity: spec.Affinity,
		TopologySpreadConstraints: spec.TopologySpreadConstraints, PriorityClassName: spec.PriorityClassName}
	want := corev1.PodSpec{NodeSelector: asLabels(desired.NodeSelector), Tolerations: desired.Tolerations, Affinity: desired.Affinity,
		TopologySpreadConstraints: desired.TopologySpreadConstraints, PriorityClassName: desired.PriorityClassName}
	NewWithT(t).Expect(got).To(BeComparableTo(want))
}

func TestPodTemplate_spreadsOverNodesAndZones(t *testing.T) {
	var want []corev1.TopologySpreadConstraint
	for _, key := range []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"} {
		want = append(want, corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: SelectorLabels(support.Echo("ns", "x"))}})
	}
	spec := liveDeployment(t, support.Echo("ns", "x")).Spec.Template.Spec
	NewWithT(t).Expect(spec.TopologySpreadConstraints).To(BeComparableTo(want))
	if spec.Affinity != nil || spec.Tolerations != nil || spec.PriorityClassName != "" {
		t.Errorf("an Echo without scheduling fields is scheduled by %+v", spec)
	}
}

// TestNodeSelector_ownImages checks that pods with the operator's own images run on Linux nodes, unless the Echo selects another operating
// system.
func TestNodeSelector_ownImages(t *testing.T) {
	const system = "kubernetes.io/os"
	linux, labels := map[string]string{system: "linux"}, map[string]string{"a": "b"}
	both, other := map[string]string{"a": "b", system: "linux"}, map[string]string{system: "plan9"}
	given := v1.Labels{"a": "b"}
	for name, c := range map[string]struct {
		image          string
		given          v1.Labels
		pod, companion map[string]string
		podOfCheck     map[string]string
	}{
		"own":                 {"", nil, linux, linux, linux},
		"own, labels":         {"", given, both, linux, both},
		"own, another system": {"", v1.Labels{system: "plan9"}, other, linux, other},
		"another":             {"other:1", nil, nil, nil, linux},
		"another, labels":     {"other:1", given, labels, nil, both},
	} {
		g := NewWithT(t)
		echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.NodeSelector = c.image, c.given })
		g.Expect(liveDeployment(t, echo).Spec.Template.Spec.NodeSelector).To(Equal(c.pod), name)
		g.Expect(liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec.NodeSelector).To(Equal(c.companion), name)
		withCheck := checked()
		withCheck.Spec.Image, withCheck.Spec.NodeSelector = c.image, c.given
		g.Expect(podOf(cronJob(t, withCheck)).NodeSelector).To(Equal(c.podOfCheck), name)
	}
}

func TestTolerations_keepAllFields(t *testing.T) {
	given := []corev1.Toleration{
		{Key: "a", Operator: corev1.TolerationOpEqual, Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0))},
		{Operator: corev1.TolerationOpExists},
	}
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Tolerations = given })
	NewWithT(t).Expect(liveDeployment(t, echo).Spec.Template.Spec.Tolerations).To(BeComparableTo(given))
}

func TestSetIdentity_keepsOrderOfImagePullSecrets(t *testing.T) {
	echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.ImagePullSecrets = []v1.ImagePullSecret{{Name: "b"}, {Name: "a"}} })
	want := []corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}} // the kubelet tries the pull secrets in this order
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server": liveDeployment(t, echo).Spec.Template.Spec, "a companion": liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec,
	} {
		NewWithT(t).Expect(spec.ImagePullSecrets).To(BeComparableTo(want), name)
	}
}
