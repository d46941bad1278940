package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the form of a value", func() {
	// The longest names and keys that Kubernetes accepts.
	longLabel := strings.Repeat("a", 63)
	longName := strings.Repeat(longLabel+".", 3) + strings.Repeat("z", 61)
	longKey := longName + "/" + strings.Repeat("A", 63)

	DescribeTable("is accepted as far as Kubernetes accepts it in a child", func(ctx SpecContext, change func(*v1.EchoSpec)) {
		createReadyEcho(ctx, support.Echo(newNamespace(ctx), "edge", func(e *v1.Echo) { change(&e.Spec) }))
	},
		Entry("the name of a port", func(s *v1.EchoSpec) { s.Service.PortName = longLabel }),
		Entry("the name of a port that is a digit", func(s *v1.EchoSpec) { s.Service.PortName = "1" }),
		Entry("an application protocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = longKey }),
		Entry("an application protocol of IANA", func(s *v1.EchoSpec) { s.Service.AppProtocol = "H2_c.1" }),
		Entry("the name of an IngressClass", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, ClassName: longName} }),
		Entry("the host of an Ingress", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, Host: longName} }),
		Entry("a wildcard as the host of an Ingress", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: true, Host: "*." + longName[2:]} }),
		Entry("a path with a pattern", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Path: "//a/../%2f(.*)", PathType: networkingv1.PathTypeImplementationSpecific}
		}),
		Entry("a path with dots", func(s *v1.EchoSpec) {
			s.Ingress = &v1.EchoIngress{Enabled: true, Path: "/.a/b../...", Host: "a.example.com"}
		}),
		Entry("names of Secrets", func(s *v1.EchoSpec) {
			s.ImagePullSecrets, s.TLS = []v1.ImagePullSecret{{Name: longName}}, &v1.EchoTLS{SecretName: longName}
			s.Ingress = &v1.EchoIngress{Enabled: true, Host: "a.example.com", TLS: true, TLSSecretName: longName}
		}),
		Entry("the name of a PriorityClass", func(s *v1.EchoSpec) { s.PriorityClassName = longName }),
		Entry("the name of a ConfigMap", func(s *v1.EchoSpec) {
			s.Checks = []v1.EchoCheck{{Name: "c", Schedule: "@hourly", URL: "http://edge", CAConfigMap: longName}}
		}),
		Entry("labels", func(s *v1.EchoSpec) {
			s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{longKey: v1.LabelValue(longLabel), "a": "", "app.kubernetes.io/part-of": "A_1.b"}}
			s.PodLabels = v1.Labels{longKey: "A", "app.kubernetes.io/version": "1"}
		}),
		Entry("annotations", func(s *v1.EchoSpec) {
			given := v1.Annotations{strings.ToUpper(longKey): strings.Repeat("x\n", 1000), "A": "", "Example.ORG/a": "1"}
			s.CommonMetadata, s.PodAnnotations, s.Service.Annotations = &v1.CommonMetadata{Annotations: given}, given, given
			s.Ingress = &v1.EchoIngress{Enabled: true, Annotations: given}
		}),
		Entry("variables of the operator with its own fields", func(s *v1.EchoSpec) {
			for name, path := range map[string]string{"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_IP": "status.podIP",
				"NODE_NAME": "spec.nodeName", "HOST_IP": "status.hostIP"} {
				s.Env = append(s.Env,
					corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}})
			}
		}),
	)

	DescribeTable("is rejected where Kubernetes would reject it in a child", func(ctx SpecContext, field string, change func(*v1.EchoSpec)) {
		err := k8s.Create(ctx, support.Echo(newNamespace(ctx), "edge", func(e *v1.Echo) { change(&e.Spec) }))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring(field)))
	},
		Entry("the name of a port", "spec.service.portName", func(s *v1.EchoSpec) { s.Service.PortName = "a_b" }),
		Entry("the name of the other port", "spec.service.portName", func(s *v1.EchoSpec) { s.Service.PortName = "https" }),
		Entry("an application protocol", "spec.service.appProtocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = "-h2c" }),
		Entry("the prefix of an application protocol", "spec.service.appProtocol", func(s *v1.EchoSpec) { s.Service.AppProtocol = longName + "z/a" }),
		Entry("the name of an IngressClass", "spec.ingress.className", func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{ClassName: "A"} }),
		Entry("the name of a pull secret", "spec.imagePullSecrets[0].name",
			func(s *v1.EchoSpec) { s.ImagePullSecrets = []v1.ImagePullSecret{{Name: longName + "z"}} }),
		Entry("the name of a certificate", "spec.tls.secretName", func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "a..b"} }),
		Entry("the name of a PriorityClass", "spec.priorityClassName", func(s *v1.EchoSpec) { s.PriorityClassName = "a/b" }),
		Entry("the key of a label", "A label key", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"a b": "c"} }),
		Entry("the key of a label that is empty", "A label key", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"": "c"} }),
		Entry("the prefix of a label", "A label key",
			func(s *v1.EchoSpec) { s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{longName + "z/a": "b"}} }),
		Entry("the value of a label", "spec.podLabels.a", func(s *v1.EchoSpec) { s.PodLabels = v1.Labels{"a": v1.LabelValue(longLabel + "a")} }),
		Entry("a label of the operator", "The operator sets",
			func(s *v1.EchoSpec) {
				s.CommonMetadata = &v1.CommonMetadata{Labels: v1.Labels{"app.kubernetes.io/component": "x"}}
			}),
		Entry("the key of an annotation", "An annotation key", func(s *v1.EchoSpec) { s.Service.Annotations = v1.Annotations{"a/b/c": "d"} }),
		Entry("an annotation that the Deployment controller sets", "reserved for the operator and for Kubernetes", func(s *v1.EchoSpec) {
			s.CommonMetadata = &v1.CommonMetadata{Annotations: v1.Annotations{"deployment.kubernetes.io/revision": "1"}}
		}),
		Entry("an annotation of the operator", "reserved for the operator",
			func(s *v1.EchoSpec) {
				s.CommonMetadata = &v1.CommonMetadata{Annotations: v1.Annotations{"echoes.example.com/x": "x"}}
			}),
	)
})
