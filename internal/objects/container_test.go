package objects

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestEnvironment compares the variables of an Echo with those of an Echo without such fields. A variable that occurs twice has both values.
func TestEnvironment(t *testing.T) {
	type env = map[string]string
	variables := func(change func(*v1.Echo)) env {
		all := env{}
		for _, e := range container(support.Echo("ns", "x", change), testConfig).Env {
			if e.Value != nil {
				all[*e.Name] += *e.Value
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		more   env
	}{
		"the defaults": {func(e *v1.Echo) {
			e.Spec.Server, e.Spec.Response = v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)}, &v1.EchoResponse{}
		}, env{}},
		"all controls":            {func(e *v1.Echo) { e.Spec.Server.Controls = v1.ControlsNone }, env{"ECHO_CONTROLS": "None"}},
		"the port of the metrics": {func(e *v1.Echo) { e.Spec.Port = 9090 }, env{"ECHO_HTTP_ADDR": ":9090", "ECHO_ADMIN_ADDR": ":9091"}},
		"variables of the Echo": {func(e *v1.Echo) {
			e.Spec.Env = []corev1.EnvVar{{Name: "ECHO_HTTP_ADDR", Value: ":9"},
				{Name: "ECHO_POD_NAMESPACE", Value: "mine"}, {Name: "POD_NAMESPACE", Value: "mine"}}
		}, env{"ECHO_HTTP_ADDR": ":9", "ECHO_POD_NAMESPACE": "mine", "POD_NAMESPACE": "mine"}},
		"HTTPS": {func(e *v1.Echo) {
			e.Spec.TLS = &v1.EchoTLS{SecretName: "s", ClientCertificate: v1.ClientCertificateNone}
		}, env{"ECHO_TLS_ADDR": ":8443", "ECHO_TLS_DIR": "/etc/echo-server/tls", "ECHO_TLS_SECRET": "s"}},
		"references in a response": {func(e *v1.Echo) {
			e.Spec.Response = &v1.EchoResponse{Body: "$(ECHO_POD_NAME)\ncosts $5, $$",
				Headers: []v1.EchoHeader{{Name: "X-$", Value: `$(ECHO_HOST_IP) "b"`}, {Name: "X-A"}}}
		}, env{"ECHO_RESPONSE_BODY": "$$(ECHO_POD_NAME)\ncosts $$5, $$$$",
			"ECHO_RESPONSE_HEADERS": `[{"name":"X-$$","value":"$$(ECHO_HOST_IP) \"b\""},{"name":"X-A"}]`}},
	} {
		want := variables(func(*v1.Echo) {})
		maps.Copy(want, c.more)
		NewWithT(t).Expect(variables(c.change)).To(BeComparableTo(want), name)
	}
}

func TestResources_emptyOnesReplaceDefaults(t *testing.T) {
	NewWithT(t).Expect(resources(&corev1.ResourceRequirements{}, true)).To(BeComparableTo(corev1ac.ResourceRequirements()))
}

func TestPodSecurityContext_allowsPortsBelow1024(t *testing.T) {
	tls := func(secret string, port int32) v1.EchoSpec {
		return v1.EchoSpec{Port: 8080, TLS: &v1.EchoTLS{SecretName: secret, Port: port}}
	}
	for name, c := range map[string]struct {
		spec    v1.EchoSpec
		sysctls int
	}{
		"an HTTP port below 1024":  {v1.EchoSpec{Port: 1023}, 1},
		"other HTTP ports":         {v1.EchoSpec{Port: 1024}, 0},
		"an HTTPS port below 1024": {tls("s", 443), 1},
		"other HTTPS ports":        {tls("s", 8443), 0},
		"without HTTPS":            {tls("", 443), 0},
	} {
		got := podSecurityContext(&c.spec)
		NewWithT(t).Expect(got.Sysctls).To(HaveLen(c.sysctls), name)
		NewWithT(t).Expect(*got.RunAsNonRoot).To(BeTrue(), name)
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

// TestHasTLS_requiresSecret checks that HTTPS without a Secret, as the console posts it, changes nothing.
func TestHasTLS_requiresSecret(t *testing.T) {
	g := NewWithT(t)
	open := func(e *v1.Echo) { e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)} }
	posted := support.Echo("ns", "x", open, func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{Port: 8443} })
	without := generatedChildren(t, support.Echo("ns", "x", open))
	for i, child := range generatedChildren(t, posted) {
		g.Expect(child.Desired).To(BeComparableTo(without[i].Desired), child.Kind)
	}
	for echo, secret := range map[*v1.Echo]string{posted: "", support.Echo("ns", "x", support.EveryField): "certificate"} {
		g.Expect(PodOf(&corev1.Pod{Spec: liveDeployment(t, echo).Spec.Template.Spec}).TLSSecret).To(Equal(secret))
	}
}

func TestPodSpec_noCredentialsButTimeToDrain(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server":       liveDeployment(t, support.Echo("ns", "x")).Spec.Template.Spec,
		"one with an identity": liveDeployment(t, support.Echo("ns", "x", support.EveryField)).Spec.Template.Spec,
		"a companion":          companionFor(t, labeledPod(), support.EchoOfCompanions()).Spec,
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
		"minimal": {func(*v1.Echo) {}, []string{"Affinity", "Tolerations"}},
		// the same toleration
		"everything": {support.EveryField, []string{"Affinity", "NodeSelector", "PriorityClassName", "TopologySpreadConstraints"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := support.EchoOfCompanions(c.change)
			own, companion := liveDeployment(t, echo).Spec.Template.Spec, companionFor(t, labeledPod(), echo).Spec
			own.Containers[0].Env = slices.DeleteFunc(own.Containers[0].Env, func(e corev1.EnvVar) bool {
				return e.Name == "ECHO_SERVICE_NAME" || e.Name == "ECHO_INGRESS_NAME"
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

// TestNodeSelector_ownImages checks that pods with the operator's images run on Linux, unless the Echo selects another operating system.
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
		g.Expect(companionFor(t, labeledPod(), echo).Spec.NodeSelector).To(Equal(c.companion), name)
		withCheck := checked()
		withCheck.Spec.Image, withCheck.Spec.NodeSelector = c.image, c.given
		g.Expect(podOf(cronJob(t, withCheck)).NodeSelector).To(Equal(c.podOfCheck), name)
	}
}

func TestSetIdentity_keepsOrderOfImagePullSecrets(t *testing.T) {
	echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.ImagePullSecrets = []v1.ImagePullSecret{{Name: "b"}, {Name: "a"}} })
	want := []corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}} // the kubelet tries the pull secrets in this order
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server": liveDeployment(t, echo).Spec.Template.Spec, "a companion": companionFor(t, labeledPod(), echo).Spec,
	} {
		NewWithT(t).Expect(spec.ImagePullSecrets).To(BeComparableTo(want), name)
	}
}

func liveDeployment(t *testing.T, echo *v1.Echo) *appsv1.Deployment {
	t.Helper()
	return liveChild[appsv1.Deployment](t, echo, testConfig)
}

// TestDeployment_setsNoReplicas checks that the field is set, because the API server sets an unset field to 1.
func TestDeployment_setsNoReplicas(t *testing.T) {
	d := liveDeployment(t, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }))
	NewWithT(t).Expect(d.Spec.Replicas).To(HaveValue(BeZero()))
}

// TestDeployment_keepsOwnLabelsOfPods checks a label that the schema rejects.
func TestDeployment_keepsOwnLabelsOfPods(t *testing.T) {
	d := liveDeployment(t, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{LabelInstance: "y"} }))
	NewWithT(t).Expect(d.Spec.Template.Labels).To(HaveKeyWithValue(LabelInstance, "x"))
}

func TestDisruptionBudget(t *testing.T) {
	budget := func(maxUnavailable int32) *policyv1.PodDisruptionBudgetSpec {
		return &policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(maxUnavailable)),
			Selector:                   &metav1.LabelSelector{MatchLabels: SelectorLabels(support.Echo("ns", "x"))},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		}
	}
	for name, c := range map[string]struct {
		replicas *int32
		given    v1.EchoDisruptionBudget
		want     *policyv1.PodDisruptionBudgetSpec
	}{
		"not configured":             {new(int32(2)), v1.EchoDisruptionBudget{}, budget(1)},
		"more":                       {new(int32(4)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, budget(3)},
		"as many as replicas":        {new(int32(3)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, nil},
		"replicas not given":         {nil, v1.EchoDisruptionBudget{}, nil},
		"one replica":                {new(int32(1)), v1.EchoDisruptionBudget{}, nil},
		"one replica to be kept":     {new(int32(1)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(0))}, budget(0)},
		"no replica, no unavailable": {new(int32(0)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(0))}, nil},
		"none":                       {new(int32(2)), v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(0))}, budget(0)},
		"disabled with a value":      {new(int32(9)), v1.EchoDisruptionBudget{Enabled: new(false), MaxUnavailable: new(int32(3))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got *policyv1.PodDisruptionBudgetSpec
			echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas, e.Spec.DisruptionBudget = c.replicas, c.given })
			if live := liveChild[policyv1.PodDisruptionBudget](t, echo, testConfig); live != nil {
				got = &live.Spec
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}
