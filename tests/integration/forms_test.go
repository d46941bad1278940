package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the form of a value", func() {
	// These names and keys have the maximum length that Kubernetes allows.
	longLabel := strings.Repeat("a", 63)
	longName := strings.Repeat(longLabel+".", 3) + strings.Repeat("z", 61)
	longKey := longName + "/" + strings.Repeat("A", 63)

	DescribeTable("is accepted if Kubernetes accepts it in a child", func(ctx SpecContext, change func(*v1.EchoSpec)) {
		createReadyEcho(ctx, support.Echo(newNamespace(ctx), "edge", func(e *v1.Echo) { change(&e.Spec) }))
	},
		Entry("the name of a port", func(s *v1.EchoSpec) { s.Service.PortName = longLabel }),
		Entry("a digit as the name of a port", func(s *v1.EchoSpec) { s.Service.PortName = "1" }),
		Entry("an application protocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = longKey }),
		Entry("an application protocol of IANA", func(s *v1.EchoSpec) { s.Service.AppProtocol = "H2_c.1" }),
		Entry("the name of an IngressClass", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: new(true), ClassName: longName} }),
		Entry("the host of an Ingress", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: longName} }),
		Entry("a wildcard as the host of an Ingress", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "*." + longName[2:]} }),
		Entry("a path with a pattern", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Path: "//a/../%2f(.*)", PathType: networkingv1.PathTypeImplementationSpecific}
		}),
		Entry("a path with dots", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Path: "/.a/b../...", Host: "a.example.com"}
		}),
		Entry("names of Secrets", func(s *v1.EchoSpec) {
			s.ImagePullSecrets, s.TLS = []v1.ImagePullSecret{{Name: longName}}, &v1.EchoTLS{SecretName: longName}
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "a.example.com", TLS: &v1.EchoIngressTLS{Enabled: new(true), SecretName: longName}}
		}),
		Entry("the name of a PriorityClass", func(s *v1.EchoSpec) { s.PriorityClassName = longName }),
		Entry("the name of a ConfigMap", func(s *v1.EchoSpec) {
			s.Checks = []v1.EchoCheck{{Name: "c", Schedule: "@hourly", URL: "http://edge", CAConfigMap: longName}}
		}),
		Entry("labels", func(s *v1.EchoSpec) {
			s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{longKey: v1.LabelValue(longLabel), "a": "", "app.kubernetes.io/part-of": "A_1.b"}}
			s.PodLabels = v1.Labels{longKey: "A", "app.kubernetes.io/version": "1"}
		}),
		Entry("a node selector", func(s *v1.EchoSpec) { s.NodeSelector = v1.Labels{longKey: v1.LabelValue(longLabel), "a": ""} }),
		Entry("tolerations", func(s *v1.EchoSpec) {
			s.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists},
				{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0))}, {Key: "a"}}
		}),
		Entry("peers", func(s *v1.EchoSpec) {
			everything := &metav1.LabelSelector{}
			s.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true), From: []networkingv1.NetworkPolicyPeer{{PodSelector: everything},
				{NamespaceSelector: everything}, {PodSelector: everything, NamespaceSelector: everything},
				{IPBlock: &networkingv1.IPBlock{CIDR: "::/0"}}}}
		}),
		Entry("quantities", func(s *v1.EchoSpec) {
			s.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1.5"), "memory": resource.MustParse("1e9"),
				"ephemeral-storage": resource.MustParse("1.25Gi")}, Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}}
		}),
		Entry("annotations", func(s *v1.EchoSpec) {
			given := v1.Annotations{strings.ToUpper(longKey): strings.Repeat("x\n", 1000), "A": "", "Example.ORG/a": "1"}
			s.CommonMetadata, s.PodAnnotations, s.Service.Annotations = &v1.CommonMetadata{Annotations: given}, given, given
			s.Ingress = &v1.EchoIngress{Enabled: new(true), Annotations: given}
		}),
		Entry("the operator's variables", func(s *v1.EchoSpec) {
			for _, name := range []string{"ECHO_POD_NAME", "ECHO_POD_NAMESPACE", "ECHO_POD_IP", "ECHO_NODE_NAME", "ECHO_HOST_IP", "ECHO_SERVICE_NAME",
				"ECHO_INGRESS_NAME", "ECHO_HTTP_ADDR", "ECHO_ADMIN_ADDR", "POD_NAME", "SERVICE_NAME"} {
				s.Env = append(s.Env, corev1.EnvVar{Name: name, Value: "mine"})
			}
			s.Env[0] = corev1.EnvVar{Name: "ECHO_POD_NAME",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.uid"}}}
		}),
	)

	It("is the default if it is an empty string", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		manifest := echoManifest(namespace, "empty", `{image: "", imagePullPolicy: "", priorityClassName: "", serviceAccountName: "", server: {controls: ""},
			service: {type: "", portName: "", appProtocol: "", externalTrafficPolicy: "", loadBalancerClass: "", ipFamilyPolicy: ""},
			tls: {secretName: "", clientCertificate: ""}, gateway: {path: ""},
			ingress: {enabled: true, host: "", path: "", pathType: "", className: "", tls: {secretName: ""}}}`)
		kubectlInput(ctx, manifest, "apply", "--server-side", "--validate=strict", "-f", "-")
		rollOut(ctx, namespace, "empty")
		expectNoWrite(ctx, echoNow(ctx, Default, namespace, "empty"))
	})

	// A stored object that cannot be decoded would stop the operator in all namespaces.
	DescribeTable("is rejected if the operator cannot decode it", func(ctx SpecContext, spec string) {
		command := kubectlCommand(ctx, "create", "--dry-run=server", "-f", "-")
		command.Stdin = strings.NewReader(echoManifest("default", "hostile", spec))
		output, err := command.CombinedOutput()
		Expect(err).To(HaveOccurred(), string(output))
		Expect(string(output)).To(ContainSubstring("is invalid"))
	},
		Entry("a quantity with a fraction in its exponent", `{resources: {limits: {cpu: "1e1.5"}}}`),
		Entry("a quantity with an endless exponent", `{resources: {requests: {memory: "1e99999999999999999999"}}}`),
		Entry("a quantity that takes minutes to read", `{resources: {limits: {cpu: "1e2147483648"}}}`),
		Entry("a small quantity that takes minutes to read", `{resources: {limits: {cpu: "1e-100000000"}}}`),
		Entry("a divisor", `{env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: "1e1.5"}}}]}`),
		Entry("a 32-bit number that is too large",
			`{topologySpreadConstraints: [{maxSkew: 3000000000, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}`),
		Entry("a 64-bit number that is too large", `{podSecurityContext: {runAsUser: 9223372036854775808}}`),
	)

	DescribeTable("is rejected if Kubernetes would reject it in a child", func(ctx SpecContext, field string, change func(*v1.EchoSpec)) {
		err := k8s.Create(ctx, support.Echo(newNamespace(ctx), "edge", func(e *v1.Echo) { change(&e.Spec) }))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(field)))
	},
		Entry("the name of a port", "spec.service.portName", func(s *v1.EchoSpec) { s.Service.PortName = "a_b" }),
		Entry("an application protocol", "spec.service.appProtocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = "-h2c" }),
		Entry("the prefix of an application protocol", "spec.service.appProtocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = longName + "z/a" }),
		Entry("the name of an IngressClass", "spec.ingress.className", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{ClassName: "A"} }),
		Entry("the name of a pull secret", "spec.imagePullSecrets[0].name",
			func(s *v1.EchoSpec) { s.ImagePullSecrets = []v1.ImagePullSecret{{Name: longName + "z"}} }),
		Entry("the name of a certificate", "spec.tls.secretName", func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "a..b"} }),
		Entry("the name of a PriorityClass", "spec.priorityClassName", func(s *v1.EchoSpec) { s.PriorityClassName = "a/b" }),
		Entry("the key of a label", "A label key", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"a b": "c"} }),
		Entry("an empty label key", "A label key", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"": "c"} }),
		Entry("the prefix of a label", "A label key",
			func(s *v1.EchoSpec) { s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{longName + "z/a": "b"}} }),
		Entry("the value of a label", "spec.podLabels.a", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"a": v1.LabelValue(longLabel + "a")} }),
		Entry("a label of the operator", "reserved for the operator and for Kubernetes",
			func(s *v1.EchoSpec) {
				s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{"app.kubernetes.io/component": "x"}}
			}),
		Entry("the key of an annotation", "An annotation key", func(s *v1.EchoSpec) { s.Service.Annotations = v1.Annotations{"a/b/c": "d"} }),
		Entry("a label that Jobs use", "reserved for the operator and for Kubernetes",
			func(s *v1.EchoSpec) { s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{"job-name": "x"}} }),
		Entry("the key of a node selector", "A label key", func(s *v1.EchoSpec) { s.NodeSelector = v1.Labels{"a b": "c"} }),
		Entry("the value of a node selector", "spec.nodeSelector.a", func(s *v1.EchoSpec) { s.NodeSelector = v1.Labels{"a": "b c"} }),
		Entry("a variable without a name", "A variable must have a name", func(s *v1.EchoSpec) { s.Env = []corev1.EnvVar{{Value: "x"}} }),
		Entry("the class of a load balancer", "spec.service.loadBalancerClass", func(s *v1.EchoSpec) {
			s.Service.Type, s.Service.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, "a b"
		}),
		Entry("two constraints with the same key", "spec.topologySpreadConstraints[1]: Duplicate value", func(s *v1.EchoSpec) {
			same := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "a", WhenUnsatisfiable: corev1.DoNotSchedule}
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{same, same}
		}),
		Entry("a body that cannot be an environment variable", "spec.response.body",
			func(s *v1.EchoSpec) { s.Response = &v1.EchoResponse{Body: "a\x00b"} }),
		Entry("an annotation that the Deployment controller sets", "reserved for the operator and for Kubernetes", func(s *v1.EchoSpec) {
			s.CommonMetadata = &v1.CommonMetadata{Annotations: v1.Annotations{"deployment.kubernetes.io/revision": "1"}}
		}),
		Entry("an annotation of the operator", "reserved for the operator",
			func(s *v1.EchoSpec) {
				s.CommonMetadata = &v1.CommonMetadata{Annotations: v1.Annotations{"echoes.example.com/x": "x"}}
			}),
	)
})
