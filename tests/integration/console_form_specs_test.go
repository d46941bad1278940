package integration

import (
	"context"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/config/samples"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support/consoleform"
	"github.com/echo-operator/echo-operator/tests/support/specs"
)

// lostInForm maps fields to rows in docs/reference/console.md. If these fields were set in the YAML view, the console's form can lose some
// of their values.
func lostInForm() map[string]string {
	const value, selector, text = "A label or an annotation with an empty value", "An empty selector", "An empty string in a list"
	return map[string]string{
		"affinity":                  selector + " in `affinity` or `topologySpreadConstraints`",
		"args":                      text + ", such as `args`",
		"commonMetadata":            value,
		"gateway":                   value,
		"ingress":                   value,
		"networkPolicy":             selector + " in `networkPolicy.from`",
		"nodeSelector":              value + ", such as in `nodeSelector`",
		"podAnnotations":            value,
		"podLabels":                 value,
		"podSecurityContext":        "`podSecurityContext: {}`",
		"resources":                 "`resources: {}`",
		"securityContext":           "`securityContext: {}`",
		"service":                   value,
		"topologySpreadConstraints": selector + " in `affinity` or `topologySpreadConstraints`",
	}
}

var _ = Describe("an Echo that passes through the form of the OpenShift console", SpecPriority(1), func() {
	var schema map[string]any
	BeforeEach(func() { schema = shippedBundle().Schema })

	It("exposes nothing more and loses nothing if it is a sample", func(ctx SpecContext) {
		files, err := samples.Files.ReadDir(".")
		Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			text, err := samples.Files.ReadFile(file.Name())
			Expect(err).NotTo(HaveOccurred())
			sample := map[string]any{}
			Expect(yaml.Unmarshal(text, &sample)).To(Succeed())
			before, after := passForm(ctx, schema, sample["spec"].(map[string]any))
			Expect(before != nil && after != nil).To(BeTrue(), file.Name())
			Expect(append(before.opened(after), before.lost(after)...)).To(BeEmpty(), file.Name())
		}
	}, SpecTimeout(specTimeout))

	It("exposes nothing more, and loses only the documented values", func(ctx SpecContext) {
		fields, err := specs.Read("../../config/crd/bases/example.com_echoes.yaml")
		Expect(err).NotTo(HaveOccurred())
		drawn, listed := rapid.Custom(func(t *rapid.T) map[string]any { return drawExposed(t, fields) }), lostInForm()
		for seed, valid := 0, 0; valid < 500; seed++ {
			spec := drawn.Example(seed)
			before, after := passForm(ctx, schema, spec)
			if before != nil {
				valid++
			}
			if after == nil { // the API server has reported why it rejected the spec
				continue
			}
			if !hasEmptyLabel(spec["networkPolicy"]) {
				Expect(before.opened(after)).To(BeEmpty(), "%v", spec)
			}
			for _, field := range before.lost(after) {
				Expect(listed).To(HaveKey(field), "%v", spec)
			}
		}
	}, SpecTimeout(specTimeout))

	It("loses the documented values", func() {
		docs, err := os.ReadFile("../../docs/reference/console.md")
		Expect(err).NotTo(HaveOccurred())
		for field, row := range lostInForm() {
			Expect(string(docs)).To(ContainSubstring(row), field)
		}
	})

	DescribeTable("admits", func(ctx SpecContext, peer string, opened int) {
		spec := map[string]any{}
		Expect(yaml.Unmarshal([]byte(`{networkPolicy: {enabled: true, from: [`+peer+`]}}`), &spec)).To(Succeed())
		before, after := passForm(ctx, schema, spec)
		Expect(before.opened(after)).To(HaveLen(opened))
	},
		Entry("the pods in the namespace instead of all pods", "{namespaceSelector: {}}", 0),
		Entry("fewer pods with a label", "{namespaceSelector: {}, podSelector: {matchLabels: {b: one}}}", 0),
		Entry("the same addresses", "{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}", 0),
		Entry("the same pods with a label", "{namespaceSelector: {matchExpressions: [{key: b, operator: Exists}], matchLabels: {c: one}}}", 0),
		Entry("the pods in the namespace if an empty value is lost", `{namespaceSelector: {matchLabels: {b: ""}}}`, 1),
		Entry("more pods if an empty value is lost", `{podSelector: {matchLabels: {b: "", c: one}}}`, 1),
		Entry("other pods if an empty value is lost", `{namespaceSelector: {matchLabels: {b: ""}}, podSelector: {matchLabels: {c: one}}}`, 1),
	)

	DescribeTable("is caught if the form", func(ctx SpecContext, spec string, spoil func(*made)) {
		given := map[string]any{}
		Expect(yaml.Unmarshal([]byte(spec), &given)).To(Succeed())
		before, after := passForm(ctx, schema, given)
		Expect(append(before.opened(after), before.lost(after)...)).To(BeEmpty())
		spoil(after)
		Expect(before.opened(after)).NotTo(BeEmpty())
	},
		Entry("also drops false values", "{securityContext: {allowPrivilegeEscalation: false, runAsUser: 1}}", func(m *made) {
			m.echo.Spec.SecurityContext.AllowPrivilegeEscalation = nil
			*m = *madeOf(m.echo)
		}),
		Entry("loses the type of the Service", "{service: {type: NodePort}}", func(m *made) {
			m.echo.Spec.Service.Type = ""
			*m = *madeOf(m.echo)
		}),
		Entry("lost a NetworkPolicy", "{networkPolicy: {enabled: true}}", func(m *made) { delete(m.objects, "NetworkPolicy") }),
		Entry("creates a NetworkPolicy without peers, which allows all clients", "{networkPolicy: {enabled: true}}", func(m *made) {
			spec := m.objects["NetworkPolicy"].Object["spec"].(map[string]any)
			delete(spec["ingress"].([]any)[0].(map[string]any), "from")
		}),
	)
})

// drawExposed draws a spec that often has a NetworkPolicy and never disables an object through which clients reach the echo servers.
func drawExposed(t *rapid.T, schema *specs.Schema) map[string]any {
	spec := specs.Draw(t, schema, 5)
	if policy := schema.Properties["networkPolicy"]; rapid.Bool().Draw(t, "policy") {
		spec["networkPolicy"] = specs.DrawValue(t, specs.Field{Path: []string{"networkPolicy"}, Schema: &policy})
	}
	for _, name := range []string{"networkPolicy", "ingress", "gateway"} {
		if group, given := spec[name].(map[string]any); given {
			group["enabled"] = true
		}
	}
	return spec
}

// hasEmptyLabel reports whether a value contains an empty string. The form drops labels with empty values, so peers select other clients,
// as docs/reference/console.md documents.
func hasEmptyLabel(value any) bool {
	switch value := value.(type) {
	case string:
		return value == ""
	case map[string]any:
		for _, inside := range value {
			if hasEmptyLabel(inside) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasEmptyLabel)
	}
	return false
}

// passForm returns the objects for a spec before and after the spec passes through the form, or nil if the API server rejects the spec.
func passForm(ctx context.Context, schema, spec map[string]any) (before, after *made) {
	GinkgoHelper()
	object := map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "Echo", "metadata": map[string]any{"name": "form"}, "spec": spec}
	if before = makeEcho(ctx, object); before == nil {
		return nil, nil
	}
	sample := map[string]any{"spec": map[string]any{"replicas": int64(2)}} // the console's form starts with the first example
	return before, makeEcho(ctx, consoleform.Posted(schema, object, sample))
}

// made contains an Echo as the API server stores it, and the objects that the operator creates for it.
type made struct {
	echo    *v1.Echo
	objects map[string]*unstructured.Unstructured
}

// makeEcho returns an Echo with its objects, or nil if the API server rejects the Echo, its Deployment, or its NetworkPolicy.
func makeEcho(ctx context.Context, object map[string]any) *made {
	GinkgoHelper()
	stored := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	stored.SetNamespace("default")
	if k8s.Create(ctx, stored, client.DryRunAll, client.FieldValidation("Strict")) != nil {
		return nil
	}
	echo := &v1.Echo{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, echo)).To(Succeed())
	m := madeOf(echo)
	for _, kind := range []string{"Deployment", "NetworkPolicy"} {
		if child := m.objects[kind]; child != nil && k8s.Create(ctx, child.DeepCopy(), client.DryRunAll) != nil {
			return nil
		}
	}
	return m
}

func madeOf(echo *v1.Echo) *made {
	GinkgoHelper()
	config := objects.Config{Images: objects.Images{EchoServer: echoServerImage, PathCheck: "pathcheck:1"}, Served: objects.Served{}}
	for kind := range objects.OptionalKinds() {
		config.Served[kind] = true
	}
	all, err := objects.Desired(echo, config)
	Expect(err).NotTo(HaveOccurred())
	for i := range echo.Spec.Checks {
		check, err := objects.Check(echo, &echo.Spec.Checks[i], config.Images)
		Expect(err).NotTo(HaveOccurred())
		check.Kind += " " + echo.Spec.Checks[i].Name
		all = append(all, check)
	}
	m := &made{echo, map[string]*unstructured.Unstructured{}}
	for _, child := range all {
		if child.Desired != nil {
			m.objects[child.Kind] = child.Desired
		}
	}
	return m
}
