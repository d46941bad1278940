package integration

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the schema", func() {
	DescribeTable("rejects invalid Echoes, with a message that describes valid values",
		func(ctx SpecContext, name, spec string, message string) {
			echo := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte("{apiVersion: example.com/v1, kind: Echo, spec: "+spec+"}"), &echo.Object)).To(Succeed())
			echo.SetName(name)
			echo.SetNamespace("default")
			Expect(k8s.Create(ctx, echo)).To(MatchError(ContainSubstring(message)))
		},
		Entry("replicas that are not a number", "bad", `{replicas: "2"}`, "spec.replicas"),
		Entry("negative replicas", "bad", "{replicas: -1}", "should be greater than or equal to 0"),
		Entry("too many replicas", "bad", "{replicas: 1001}", "should be less than or equal to 1000"),
		Entry("an image with a space", "bad", `{replicas: 1, image: "a b"}`, "spec.image"),
		Entry("port 0", "bad", "{replicas: 1, port: 0}", "spec.port"),
		Entry("port 65536", "bad", "{replicas: 1, port: 65536}", "spec.port"),
		Entry("a duplicate variable", "bad", "{replicas: 1, env: [{name: A}, {name: A}]}", "Duplicate value"),
		Entry("an unsupported type of Service", "bad", "{replicas: 1, service: {type: ExternalName}}", "spec.service.type"),
		Entry("Service port 0", "bad", "{replicas: 1, service: {port: 0}}", "spec.service.port"),
		Entry("a source range that is an address", "bad",
			"{replicas: 1, service: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8, 10.1.2.3]}}",
			"Each range must be an IP block in CIDR notation"),
		Entry("an unknown IP family", "bad", "{replicas: 1, service: {ipFamilies: [ipv4]}}", "spec.service.ipFamilies[0]"),
		Entry("a repeated IP family", "bad", "{replicas: 1, service: {ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv4]}}",
			"Each IP family must be specified only once."),
		Entry("three IP families", "bad", "{replicas: 1, service: {ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv6, IPv4]}}",
			"must have at most 2 items"),
		Entry("an unknown IP family policy", "bad", "{replicas: 1, service: {ipFamilyPolicy: DualStack}}", "spec.service.ipFamilyPolicy"),
		Entry("a ServiceAccount with a capital letter", "bad", "{replicas: 1, serviceAccountName: Mesh}",
			"The name of a ServiceAccount must contain only lowercase letters"),
		Entry("an unknown image pull policy", "bad", "{replicas: 1, imagePullPolicy: Sometimes}", "spec.imagePullPolicy"),
		Entry("a duplicate Secret", "bad", "{replicas: 1, imagePullSecrets: [{name: a}, {name: a}]}", "Duplicate value"),
		Entry("a status below 200", "bad", "{replicas: 1, response: {statusCode: 199}}", "spec.response.statusCode"),
		Entry("a status above 599", "bad", "{replicas: 1, response: {statusCode: 600}}", "spec.response.statusCode"),
		Entry("a delay above 30 s", "bad", "{replicas: 1, response: {delayMilliseconds: 30001}}", "spec.response.delayMilliseconds"),
		Entry("a header with a space in its name", "bad", "{replicas: 1, response: {headers: [{name: a b}]}}", "spec.response.headers"),
		Entry("a header with a line break", "bad", `{replicas: 1, response: {headers: [{name: a, value: "b\nc"}]}}`, "spec.response.headers"),
		Entry("a header with a control character", "bad", `{replicas: 1, response: {headers: [{name: a, value: "b\u0001c"}]}}`,
			"spec.response.headers"),
		Entry("a variable that is too long", "bad", "{replicas: 1, env: [{name: A, value: "+strings.Repeat("b", 32766)+"}]}",
			"at most 32766 characters"),
		Entry("an argument that is too long", "bad", "{replicas: 1, args: ["+strings.Repeat("b", 32768)+"]}", "spec.args"),
		Entry("a fault of 0 percent", "bad", "{replicas: 1, response: {faults: [{percentage: 0, statusCode: 500}]}}",
			"spec.response.faults[0].percentage"),
		Entry("a fault of 0 failures", "bad", "{replicas: 1, response: {faults: [{failures: 0, statusCode: 500}]}}",
			"spec.response.faults[0].failures"),
		Entry("nine faults", "bad", "{replicas: 1, response: {faults: ["+strings.Repeat("{statusCode: 500},", 9)+"]}}",
			"must have at most 8 items"),
		Entry("an IP address as host", "bad", "{ingress: {enabled: true, host: 192.0.2.1}}", "not an IP address"),
		Entry("an invalid host", "bad", "{replicas: 1, ingress: {enabled: true, host: A_B}}", "spec.ingress.host"),
		Entry("a host name of a route that is too long", "bad", "{gateway: {hostnames: ["+strings.Repeat("a.", 150)+"example.com]}}", "Too long"),
		Entry("a path without a slash", "bad", "{replicas: 1, ingress: {enabled: true, host: a.example.com, path: x}}", "spec.ingress.path"),
		Entry("a budget below 0", "bad", "{replicas: 1, disruptionBudget: {maxUnavailable: -1}}", "spec.disruptionBudget.maxUnavailable"),
		Entry("too many peers", "bad", "{replicas: 1, networkPolicy: {from: ["+strings.Repeat("{podSelector: {}},", 33)+"]}}",
			"spec.networkPolicy.from: Too many"),
		Entry("a label that the operator sets", "bad", "{replicas: 1, podLabels: {app.kubernetes.io/name: x}}", "reserved for the operator and for Kubernetes"),
		Entry("the label for companions", "bad", "{replicas: 1, podLabels: {echoes.example.com/companion: x}}", "reserved for the operator and for Kubernetes"),
		Entry("an annotation of pods that the operator sets", "bad", "{replicas: 1, podAnnotations: {echoes.example.com/x: x}}",
			"reserved for the operator"),
		Entry("an annotation of the Service that the operator sets", "bad",
			"{replicas: 1, service: {annotations: {echoes.example.com/applied-hash: x}}}", "reserved for the operator"),
		Entry("an annotation of the Ingress that the operator sets", "bad",
			"{replicas: 1, ingress: {annotations: {echoes.example.com/applied-hash: x}}}", "reserved for the operator"),
	)

	It("sets all defaults", func(ctx SpecContext) {
		echo := &v1.Echo{}
		echo.Namespace, echo.Name = newNamespace(ctx), "bare"
		createEcho(ctx, echo)
		now := echoNow(ctx, Default, echo.Namespace, echo.Name)
		Expect(now.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		Expect(now.Spec.Port).To(BeEquivalentTo(8080))
		Expect(now.Spec.Server).To(Equal(v1.EchoServer{Controls: v1.ControlsSafe, Identity: new(true)}))
		Expect(now.Spec.TLS).To(BeNil())
		Expect(now.Spec.Service).To(Equal(v1.EchoService{Type: corev1.ServiceTypeClusterIP, Port: 80}))
		Expect(now.Spec.DisruptionBudget).To(Equal(v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(1))}))
	})
})

var _ = Describe("the Echo of each sample", func() {
	files, err := filepath.Glob("../../config/samples/v1_*.yaml")
	if err != nil || len(files) == 0 {
		panic("no samples")
	}
	for _, file := range files {
		It("is stored as written, because Argo CD compares the two:  "+filepath.Base(file), func(ctx SpecContext) {
			for document := range strings.SplitSeq(support.Read("config/samples/"+filepath.Base(file)), "\n---\n") {
				body, err := yaml.YAMLToJSON([]byte(document))
				Expect(err).NotTo(HaveOccurred())
				sent := &unstructured.Unstructured{}
				Expect(sent.UnmarshalJSON(body)).To(Succeed())
				if sent.GetKind() == "Echo" {
					expectStoredAsSent(ctx, sent)
				}
			}
		})
	}

	It("is stored as written, with every field", func(ctx SpecContext) {
		echo := support.Echo("", "every", support.EveryField)
		echo.Spec.Checks[0].DeadlineSeconds = 0 // any default that the API server sets here is fine
		echo.UID, echo.APIVersion, echo.Kind = "", v1.GroupVersion.String(), "Echo"
		sent, err := runtime.DefaultUnstructuredConverter.ToUnstructured(echo)
		Expect(err).NotTo(HaveOccurred())
		expectStoredAsSent(ctx, &unstructured.Unstructured{Object: sent})
	})
})

// expectStoredAsSent expects that the API server would store an Echo's spec unchanged.
func expectStoredAsSent(ctx context.Context, sent *unstructured.Unstructured) {
	GinkgoHelper()
	sent.SetNamespace(newNamespace(ctx)) // another spec may apply the same sample in the default namespace
	stored := sent.DeepCopy()
	Expect(k8s.Create(ctx, stored, client.DryRunAll)).To(Succeed())
	Expect(changes("spec", sent.Object["spec"], stored.Object["spec"])).To(BeEmpty())
}

// changes returns the paths at which the stored value differs from the sent value. Like Argo CD, it ignores fields that the API server adds
// to a map, but compares list items as a whole.
func changes(path string, sent, stored any) []string {
	fields, isMap := sent.(map[string]any)
	others, wasMap := stored.(map[string]any)
	if !isMap || !wasMap {
		if reflect.DeepEqual(sent, stored) {
			return nil
		}
		return []string{path}
	}
	var all []string
	for name, value := range fields {
		all = append(all, changes(path+"."+name, value, others[name])...)
	}
	return all
}
