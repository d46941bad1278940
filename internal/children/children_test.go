package children

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// everything sets every field of an Echo's spec that is not another's opposite.
func everything(e *v1.Echo) {
	e.UID = "1234"
	e.Spec = v1.EchoSpec{
		Replicas:         3,
		Image:            "registry.example.com/other:1",
		Port:             443,
		Args:             []string{"-v"},
		ImagePullPolicy:  corev1.PullAlways,
		ImagePullSecrets: []v1.ImagePullSecret{{Name: "pull"}},
		Env:              []corev1.EnvVar{{Name: "A", Value: "b"}},
		Response: &v1.EchoResponse{StatusCode: 503, DelayMilliseconds: 20, Body: "costs $(5)",
			Headers: []v1.EchoHeader{{Name: "X-A", Value: "b"}}, Faults: []v1.EchoFault{{Percentage: 10, StatusCode: 502},
				{Percentage: 100, DelayMilliseconds: 5, MaxDelayMilliseconds: 50, Connection: v1.ConnectionTruncate, Failures: 2}}},
		Server:    v1.EchoServer{Controls: v1.ControlsFull, Identity: new(false)},
		Resources: &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}},
		Service: v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, Port: 444, Annotations: map[string]string{"a": "b"},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, LoadBalancerClass: "example.com/class",
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
			IPFamilyPolicy: corev1.IPFamilyPolicyPreferDualStack, InternalTrafficPolicy: corev1.ServiceInternalTrafficPolicyLocal,
			SessionAffinity: corev1.ServiceAffinityClientIP},
		TLS: &v1.EchoTLS{SecretName: "certificate", Port: 8443, ServicePort: 443, ClientCertificate: v1.ClientCertificateRequire},
		Ingress: &v1.EchoIngress{Enabled: true, Host: "echo.example.com", Path: "/e", ClassName: "nginx", TLS: true,
			TLSSecretName: "certificate", Annotations: map[string]string{"c": "d"}},
		Gateway: &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "public", Namespace: "gateways", SectionName: "https"}, {Name: "own"}},
			Hostnames: []string{"echo.example.com"}, Path: "/e", GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.com"}},
			BackendTLS: &v1.EchoGatewayBackendTLS{Hostname: "x.ns.svc", CAConfigMap: "ca"}, Annotations: map[string]string{"e": "f"}},
		DisruptionBudget: v1.EchoDisruptionBudget{MaxUnavailable: new(int32(2))},
		NetworkPolicy: &v1.EchoNetworkPolicy{Enabled: true, From: []networkingv1.NetworkPolicyPeer{
			{IPBlock: &networkingv1.IPBlock{CIDR: "10.1.0.0/16", Except: []string{"10.1.1.0/24"}}}}},
		Checks: []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "https://echo.example.com/e", Address: "192.0.2.1", CAConfigMap: "ca",
			Groups: []string{"client"}, Expect: []v1.EchoExpectation{{Fact: "client.address", Value: "kept"}}, DeadlineSeconds: 60}},
		NodeSelector: map[string]string{"disk": "ssd"},
		Tolerations:  []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}}}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
		PriorityClassName:  "high",
		ServiceAccountName: "mesh",
		PodLabels:          map[string]string{"team": "a"},
		PodAnnotations:     map[string]string{"note": "b"},
		PodSecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
		SecurityContext:    &corev1.SecurityContext{RunAsUser: new(int64(0))},
	}
}

// allServed are all kinds that a cluster may serve.
func allServed() Served {
	served := Served{}
	for kind := range OptionalKinds() {
		served[kind] = true
	}
	return served
}

// liveChild returns the child of a Go type as the API server would return it, nil if there should be none. It fails on fields that the
// type does not have.
func liveChild[T any](t *testing.T, echo *v1.Echo, config Config) *T {
	t.Helper()
	g := NewWithT(t)
	all, err := Of(echo, config)
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		live, ok := any(c.Blank()).(*T)
		if !ok || c.Want == nil {
			continue
		}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(c.Want.Object, live, true)).To(Succeed(), "%s", c.Kind)
		return live
	}
	return nil
}

// TestChildren compares what is made for an Echo with the files in testdata. UPDATE=1 writes them anew, for a reviewer to read.
func TestChildren(t *testing.T) {
	for name, echo := range map[string]*v1.Echo{
		"minimal":    support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "1234" }),
		"everything": support.Echo("ns", "x", everything),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all, err := Of(echo, Config{
				Images: Images{EchoServer: "quay.io/echo-operator/echo-server:v1"},
				TLS:    TLSProfile{MinVersion: "VersionTLS12", Ciphers: []string{"A", "B"}},
				Served: allServed(),
			})
			g.Expect(err).NotTo(HaveOccurred())
			var got []byte
			for _, c := range all {
				if c.Want == nil {
					continue
				}
				text, err := yaml.Marshal(c.Want.Object)
				g.Expect(err).NotTo(HaveOccurred())
				got = append(append(got, "---\n"...), text...)
			}
			file := filepath.Join("testdata", name+".yaml")
			if os.Getenv("UPDATE") != "" {
				g.Expect(os.WriteFile(file, got, 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(got)).To(Equal(string(want)), "what is made differs from %s", file)
		})
	}
}

func TestUnwantedChildren(t *testing.T) {
	off := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Host: "a.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{}
		e.Spec.Gateway = &v1.EchoGateway{ParentRefs: []v1.EchoGatewayReference{{Name: "g"}}, GRPC: &v1.EchoGatewayGRPC{}, BackendTLS: &v1.EchoGatewayBackendTLS{}}
	})
	all, err := Of(off, Config{Images: Images{EchoServer: "i"}, Served: allServed()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		if wanted := c.Kind == "Deployment" || c.Kind == "Service"; wanted != (c.Want != nil) {
			t.Errorf("%s: wanted is %t", c.Kind, c.Want != nil)
		}
	}
}

func TestKindsAreComplete(t *testing.T) {
	g := NewWithT(t)
	seen, listed := map[reflect.Type]bool{}, append(Kinds(), slices.Collect(maps.Values(OptionalKinds()))...)
	for _, k := range kinds() {
		object := k.blank()
		same := func(other client.Object) bool { return reflect.TypeOf(other) == reflect.TypeOf(object) }
		if k.name != reflect.TypeOf(object).Elem().Name() || seen[reflect.TypeOf(object)] || !slices.ContainsFunc(listed, same) {
			t.Errorf("%s has an object of type %T", k.name, object)
		}
		seen[reflect.TypeOf(object)] = true
	}
	all, err := Of(support.Echo("ns", "x", everything), Config{Images: Images{EchoServer: "i"}, Served: allServed()})
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		g.Expect(c.Want.GetKind()).To(Equal(c.Kind))
	}
}

// TestOnlyAServiceIsTriedBeforeItIsReplaced: an Ingress of another name could be refused because the one that it replaces has its host.
func TestOnlyAServiceIsTriedBeforeItIsReplaced(t *testing.T) {
	for name, trial := range map[string]string{"x": "x-trial", strings.Repeat("a", 63): strings.Repeat("a", 57) + "-trial"} {
		all, err := Of(support.Echo("ns", name, everything), testConfig)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, c := range all {
			got := c.Trial()
			if (got != nil) != (c.Kind == "Service") || got != nil && (got.GetName() != trial || c.Want.GetName() != name) {
				t.Errorf("the trial of a %s is %v", c.Kind, got)
			}
		}
	}
}

func TestEveryChildHasLabelsAndOwner(t *testing.T) {
	echo := support.Echo("ns", "x", everything)
	all, err := Of(echo, Config{Images: Images{EchoServer: "i"}, Served: allServed()})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, c := range all {
		if !ManagedSelector().Matches(labels.Set(c.Want.GetLabels())) {
			t.Errorf("the cache of the operator does not hold a %s with the labels %v", c.Kind, c.Want.GetLabels())
		}
		if !metav1.IsControlledBy(c.Want, echo) || !*c.Want.GetOwnerReferences()[0].BlockOwnerDeletion {
			t.Errorf("a %s has the owners %+v", c.Kind, c.Want.GetOwnerReferences())
		}
	}
}
