package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// field is a field of the spec, and two different values for it.
type field struct {
	name     string
	one, two func(*v1.EchoSpec)
}

func fields() []field {
	return slices.Concat(containerFields(), accessFields(), placementFields())
}

// containerFields returns the fields for the container.
func containerFields() []field {
	return []field{
		{"replicas", func(s *v1.EchoSpec) { s.Replicas = new(int32(0)) }, func(s *v1.EchoSpec) { s.Replicas = new(int32(3)) }},
		{"image", func(s *v1.EchoSpec) { s.Image = "a:1" }, func(s *v1.EchoSpec) { s.Image = "b@sha256:" + strings.Repeat("0", 64) }},
		{"args", func(s *v1.EchoSpec) { s.Args = []string{"-a", "-b"} }, func(s *v1.EchoSpec) { s.Args = []string{"-b"} }},
		{"imagePullPolicy", func(s *v1.EchoSpec) { s.ImagePullPolicy = corev1.PullAlways },
			func(s *v1.EchoSpec) { s.ImagePullPolicy = corev1.PullNever }},
		{"imagePullSecrets", func(s *v1.EchoSpec) { s.ImagePullSecrets = []v1.ImagePullSecret{{Name: "a"}, {Name: "b"}} },
			func(s *v1.EchoSpec) { s.ImagePullSecrets = []v1.ImagePullSecret{{Name: "b"}} }},
		{"port", func(s *v1.EchoSpec) { s.Port = 80 }, func(s *v1.EchoSpec) { s.Port = 9090 }},
		{"env", func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B"}} },
			func(s *v1.EchoSpec) {
				s.Env = []corev1.EnvVar{{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
			}},
		{"response", func(s *v1.EchoSpec) {
			s.Response = &v1.EchoResponse{StatusCode: 418, DelayMilliseconds: 5, Body: "$HOME $(A)",
				Headers: []v1.EchoHeader{{Name: "X", Value: "y"}}}
		}, func(s *v1.EchoSpec) { s.Response = &v1.EchoResponse{Body: "b"} }},
		{"response.faults", func(s *v1.EchoSpec) {
			s.Response = &v1.EchoResponse{
				Faults: []v1.EchoFault{{Percentage: 10, StatusCode: 503}, {Percentage: 100, DelayMilliseconds: 1, MaxDelayMilliseconds: 9}}}
		}, func(s *v1.EchoSpec) {
			s.Response = &v1.EchoResponse{Faults: []v1.EchoFault{{Connection: v1.ConnectionReset, Failures: 2}}}
		}},
		{"server", func(s *v1.EchoSpec) { s.Server = v1.EchoServer{Controls: v1.ControlsNone, Identity: new(false)} },
			func(s *v1.EchoSpec) { s.Server = v1.EchoServer{Controls: v1.ControlsFull} }},
		{"resources", func(s *v1.EchoSpec) {
			s.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5")}}
		}, func(s *v1.EchoSpec) { s.Resources = &corev1.ResourceRequirements{} }},
	}
}

// accessFields returns the fields for network access and availability.
func accessFields() []field {
	return []field{
		{"service.type", func(s *v1.EchoSpec) { s.Service.Type = corev1.ServiceTypeNodePort },
			func(s *v1.EchoSpec) { s.Service.Type = corev1.ServiceTypeLoadBalancer }},
		{"service.port", func(s *v1.EchoSpec) { s.Service.Port = 81 }, func(s *v1.EchoSpec) { s.Service.Port = 82 }},
		{"service.portName", func(s *v1.EchoSpec) { s.Service.PortName = "web" }, func(s *v1.EchoSpec) { s.Service.PortName = "h2c-grpc" }},
		{"service.appProtocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = "kubernetes.io/h2c" },
			func(s *v1.EchoSpec) { s.Service.AppProtocol = "http" }},
		{"ingress.pathType", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/a", PathType: networkingv1.PathTypeExact}
		}, func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Path: "/echo(/|$)(.*)", PathType: networkingv1.PathTypeImplementationSpecific}
		}},
		{"ingress without a host", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true} },
			func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, TLS: true, TLSSecretName: "s"} }},
		{"service.annotations", func(s *v1.EchoSpec) { s.Service.Annotations = map[string]string{"a": "1", "b": "2"} },
			func(s *v1.EchoSpec) { s.Service.Annotations = map[string]string{"b": "3"} }},
		{"service of a load balancer", func(s *v1.EchoSpec) {
			s.Service = v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, Port: 80, LoadBalancerClass: "example.com/a",
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal}
		}, func(s *v1.EchoSpec) {
			s.Service = v1.EchoService{Type: corev1.ServiceTypeNodePort, Port: 80, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster}
		}},
		{"service.loadBalancerSourceRanges", func(s *v1.EchoSpec) {
			s.Service = v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, Port: 80, LoadBalancerSourceRanges: []string{"10.0.0.0/8", "fd00::/8"}}
		}, func(s *v1.EchoSpec) {
			s.Service = v1.EchoService{Type: corev1.ServiceTypeLoadBalancer, Port: 80, LoadBalancerSourceRanges: []string{"192.0.2.0/24"}}
		}},
		{"service.ipFamilies", func(s *v1.EchoSpec) { s.Service.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} },
			func(s *v1.EchoSpec) {
				s.Service.IPFamilies, s.Service.IPFamilyPolicy = []corev1.IPFamily{corev1.IPv4Protocol}, corev1.IPFamilyPolicyPreferDualStack
			}},
		{"service.ipFamilyPolicy", func(s *v1.EchoSpec) { s.Service.IPFamilyPolicy = corev1.IPFamilyPolicyPreferDualStack },
			func(s *v1.EchoSpec) { s.Service.IPFamilyPolicy = corev1.IPFamilyPolicySingleStack }},
		{"service.internalTrafficPolicy", func(s *v1.EchoSpec) { s.Service.InternalTrafficPolicy = corev1.ServiceInternalTrafficPolicyLocal },
			func(s *v1.EchoSpec) { s.Service.InternalTrafficPolicy = corev1.ServiceInternalTrafficPolicyCluster }},
		{"service.sessionAffinity", func(s *v1.EchoSpec) { s.Service.SessionAffinity = corev1.ServiceAffinityClientIP },
			func(s *v1.EchoSpec) { s.Service.SessionAffinity = corev1.ServiceAffinityNone }},
		{"tls", func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "a"} }, func(s *v1.EchoSpec) {
			s.TLS = &v1.EchoTLS{SecretName: "b", Port: 443, ServicePort: 8443, ClientCertificate: v1.ClientCertificateRequire}
		}},
		{"tls without a Secret", func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{} },
			func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "a", Port: 9443} }},
		{"ingress", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", Path: "/a", ClassName: "c", TLS: true, TLSSecretName: "s",
				Annotations: map[string]string{"a": "b"}}
		}, func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "*.example.com", TLS: true}
		}},
		{"ingress.enabled", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com"} },
			func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Host: "a.example.com"} }},
		{"disruptionBudget.enabled", func(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(false) },
			func(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(true) }},
		{"disruptionBudget.maxUnavailable", func(s *v1.EchoSpec) { s.DisruptionBudget.MaxUnavailable = new(int32(0)) },
			func(s *v1.EchoSpec) { s.DisruptionBudget.MaxUnavailable = new(int32(3)) }},
		{"networkPolicy", func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true} },
			func(s *v1.EchoSpec) { s.NetworkPolicy = &v1.EchoNetworkPolicy{} }},
		{"networkPolicy.from", func(s *v1.EchoSpec) {
			s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true, From: []networkingv1.NetworkPolicyPeer{
				{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}},
				{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}}}}
		}, func(s *v1.EchoSpec) {
			s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true, From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
		}},
	}
}

// placementFields returns the fields for scheduling and for other pod settings.
func placementFields() []field {
	return []field{
		{"podSecurityContext", func(s *v1.EchoSpec) { s.PodSecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(0))} },
			func(s *v1.EchoSpec) { s.PodSecurityContext = &corev1.PodSecurityContext{} }},
		{"securityContext", func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))} },
			func(s *v1.EchoSpec) { s.SecurityContext = &corev1.SecurityContext{} }},
		{"nodeSelector", func(s *v1.EchoSpec) { s.NodeSelector = map[string]v1.LabelValue{"a": "1", "b": "2"} },
			func(s *v1.EchoSpec) { s.NodeSelector = map[string]v1.LabelValue{"b": "3"} }},
		{"tolerations", func(s *v1.EchoSpec) {
			s.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists},
				{Key: "b", Value: "c", Effect: corev1.TaintEffectNoSchedule}}
		}, func(s *v1.EchoSpec) {
			s.Tolerations = []corev1.Toleration{
				{Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(5)), Effect: corev1.TaintEffectNoExecute}}
		}},
		{"affinity", func(s *v1.EchoSpec) {
			s.Affinity = &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "a"}}}}
		}, func(s *v1.EchoSpec) {
			s.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "b"}}}}}
		}},
		{"topologySpreadConstraints", func(s *v1.EchoSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "a", WhenUnsatisfiable: corev1.DoNotSchedule}}
		}, func(s *v1.EchoSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "a", WhenUnsatisfiable: corev1.ScheduleAnyway}}
		}},
		{"priorityClassName", func(s *v1.EchoSpec) { s.PriorityClassName = "a" }, func(s *v1.EchoSpec) { s.PriorityClassName = "b" }},
		{"serviceAccountName", func(s *v1.EchoSpec) { s.ServiceAccountName = "a" }, func(s *v1.EchoSpec) { s.ServiceAccountName = "b.c-d" }},
		{"podLabels", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"a": "1", "b": "2"} },
			func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"b": "3"} }},
		{"podAnnotations", func(s *v1.EchoSpec) { s.PodAnnotations = map[string]string{"a": "1", "b": "2"} },
			func(s *v1.EchoSpec) { s.PodAnnotations = map[string]string{"b": "3"} }},
		{"commonMetadata", func(s *v1.EchoSpec) {
			s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{"team": "a"}, Annotations: v1.Annotations{"example.org/a": "1", "b": "2"}}
		}, func(s *v1.EchoSpec) { s.CommonMetadata = &v1.CommonMetadata{Annotations: v1.Annotations{"b": "3"}} }},
	}
}

// fieldsWithOtherTests returns the fields that have separate tests. Most of them configure objects that do not have the Echo's name, or
// whose kinds this cluster does not serve.
func fieldsWithOtherTests() []field {
	return []field{
		{"paused", func(s *v1.EchoSpec) { s.Paused = true }, func(s *v1.EchoSpec) { s.Paused = false }},
		{"monitoring", func(s *v1.EchoSpec) { s.Monitoring = &v1.EchoMonitoring{Enabled: true} },
			func(s *v1.EchoSpec) { s.Monitoring = &v1.EchoMonitoring{} }},
		{"gateway", func(s *v1.EchoSpec) {
			s.TLS = &v1.EchoTLS{SecretName: "a"}
			s.Gateway = &v1.EchoGateway{Enabled: true,
				ParentRefs: []v1.EchoGatewayReference{{Name: "a", Namespace: "b", SectionName: "c"}, {Name: "d"}},
				Hostnames:  []string{"*.example.com"}, Path: "/a", GRPC: &v1.EchoGatewayGRPC{Hostnames: []string{"grpc.example.org"}},
				BackendTLS:  &v1.EchoGatewayBackendTLS{Hostname: "a.example.com", CAConfigMap: "ca"},
				Annotations: map[string]string{"a": "b"}}
		}, func(s *v1.EchoSpec) {
			s.Gateway = &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "a"}}}
		}},
		{"gateway.enabled", func(s *v1.EchoSpec) { s.Gateway = &v1.EchoGateway{} },
			func(s *v1.EchoSpec) { s.Gateway = &v1.EchoGateway{ParentRefs: []v1.EchoGatewayReference{{Name: "a"}}} }},
		{"checks", func(s *v1.EchoSpec) {
			s.Checks = []v1.EchoCheck{{Name: "a", Schedule: "@hourly"},
				{Name: "b", Schedule: "*/5 * * * *", URL: "https://a.example.com/b", Address: "[fd00::1]:443",
					CAConfigMap: "ca", Groups: []string{"client", "tls"}, Expect: []v1.EchoExpectation{{Fact: "body.max", Value: ">=10Mi"}},
					DeadlineSeconds: 60}}
		}, func(s *v1.EchoSpec) { s.Checks = []v1.EchoCheck{{Name: "a", Schedule: "@daily"}} }},
	}
}

var _ = Describe("a field of the spec", func() {
	var entries []TableEntry
	for _, f := range fields() {
		entries = append(entries, Entry(f.name, f))
	}
	DescribeTable("that is set, changed, and unset results in the same children as a new Echo with the same spec",
		func(ctx SpecContext, f field) {
			namespace := newNamespace(ctx)
			changed := createEcho(ctx, support.Echo(namespace, "changed"))
			for step, change := range []func(*v1.EchoSpec){f.one, f.two, f.one, func(*v1.EchoSpec) {}} {
				created := createEcho(ctx, support.Echo(namespace, fmt.Sprintf("created-%d", step), func(e *v1.Echo) { change(&e.Spec) }))
				edit(ctx, changed, func(e *v1.Echo) {
					e.Spec = support.Echo("", "").Spec
					change(&e.Spec)
				})
				Eventually(func(g Gomega) {
					g.Expect(childrenAsYAML(ctx, g, changed)).To(Equal(childrenAsYAML(ctx, g, created)))
				}).WithContext(ctx).Should(Succeed())
			}
		}, entries)

	It("is tested", func() {
		tested := map[string]bool{}
		for _, f := range append(fields(), fieldsWithOtherTests()...) {
			name, _, _ := strings.Cut(f.name, ".")
			name, _, _ = strings.Cut(name, " ")
			tested[name] = true
		}
		for f := range reflect.TypeFor[v1.EchoSpec]().Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			Expect(tested).To(HaveKey(name))
		}
	})
})

// childrenAsYAML returns an Echo's children as YAML, without the fields that differ from object to object.
func childrenAsYAML(ctx context.Context, g Gomega, echo *v1.Echo) string {
	all := map[string]any{}
	for _, kind := range objects.Kinds(nil) {
		object := kind.DeepCopyObject().(client.Object)
		err := k8s.Get(ctx, client.ObjectKeyFromObject(echo), object)
		if apierrors.IsNotFound(err) {
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		if object.GetDeletionTimestamp() != nil {
			continue // the object is being deleted, and the tests have no garbage collector to complete the deletion
		}
		text, err := json.Marshal(object)
		g.Expect(err).NotTo(HaveOccurred())
		u := map[string]any{}
		g.Expect(json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"`+echo.Name+`"`, `"NAME"`)), &u)).To(Succeed())
		delete(u, "status")
		metadata := u["metadata"].(map[string]any)
		u["metadata"] = map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"]}
		for _, allocated := range [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"}} {
			unstructured.RemoveNestedField(u, allocated...)
		}
		if ports, found, _ := unstructured.NestedSlice(runtime.DeepCopyJSON(u), "spec", "ports"); found {
			delete(ports[0].(map[string]any), "nodePort")
			g.Expect(unstructured.SetNestedSlice(u, ports, "spec", "ports")).To(Succeed())
		}
		all[reflect.TypeOf(kind).Elem().Name()] = u
	}
	dropEmpty(all)
	text, err := yaml.Marshal(all)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// dropEmpty removes empty maps from a tree. The API server keeps maps that were empty when they were created, and removes maps that become
// empty later.
func dropEmpty(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			dropEmpty(value)
			if m, ok := value.(map[string]any); ok && len(m) == 0 {
				delete(tree, key)
			}
		}
	case []any:
		for _, value := range tree {
			dropEmpty(value)
		}
	}
}
