package integration

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	consolev1 "github.com/openshift/api/console/v1"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/config/samples"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/consoleform"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
	"github.com/echo-operator/echo-operator/tests/support/specs"
)

// lostInForm maps fields to rows in docs/reference/console.md. If these fields were set in the YAML view, the console's form can lose some
// of their values.
func lostInForm() map[string]string {
	const value, selector, text = "a label or an annotation with an empty value", "an empty selector", "an empty string in a list"
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
	var form map[string]any
	BeforeEach(func() { form = shippedBundle().Schema })

	It("loses nothing if it is a sample", func(ctx SpecContext) {
		files, err := samples.Files.ReadDir(".")
		Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			text, err := samples.Files.ReadFile(file.Name())
			Expect(err).NotTo(HaveOccurred())
			sample := map[string]any{}
			Expect(yaml.Unmarshal(text, &sample)).To(Succeed())
			before, after := passForm(ctx, form, sample["spec"].(map[string]any))
			Expect(before != nil && after != nil).To(BeTrue(), file.Name())
			Expect(before.lost(after)).To(BeEmpty(), file.Name())
		}
	}, SpecTimeout(specTimeout))

	It("is accepted, and loses only the documented values, which are empty", func(ctx SpecContext) {
		schema := readSchema()
		drawn, listed := rapid.Custom(func(t *rapid.T) map[string]any { return specs.Draw(t, schema, 5) }), lostInForm()
		for seed, valid := 0, 0; valid < 500; seed++ {
			spec := drawn.Example(seed)
			before, after := passForm(ctx, form, spec)
			if before == nil {
				continue
			}
			valid++
			if after == nil { // the API server has reported which field is missing
				Expect(hasEmpty(spec)).To(BeTrue(), "%v", spec)
				continue
			}
			for _, field := range before.lost(after) {
				Expect(listed).To(HaveKey(field), "%v", spec)
				Expect(hasEmpty(spec[field])).To(BeTrue(), "%v", spec)
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

	// docs/reference/console.md describes which losses let more clients connect.
	DescribeTable("admits", func(ctx SpecContext, peer, admitted string) {
		spec := map[string]any{}
		Expect(yaml.Unmarshal([]byte(`{networkPolicy: {enabled: true, from: [`+peer+`]}}`), &spec)).To(Succeed())
		_, after := passForm(ctx, form, spec)
		policy := &networkingv1.NetworkPolicy{}
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(after.objects["NetworkPolicy"].Object, policy)).To(Succeed())
		from, err := yaml.Marshal(policy.Spec.Ingress[0].From)
		Expect(err).NotTo(HaveOccurred())
		Expect(from).To(MatchYAML(admitted))
	},
		Entry("the pods in the namespace instead of all pods", "{namespaceSelector: {}}", "[{podSelector: {}}]"),
		Entry("fewer pods with a label", "{namespaceSelector: {}, podSelector: {matchLabels: {b: one}}}", "[{podSelector: {matchLabels: {b: one}}}]"),
		Entry("the same addresses", "{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}",
			"[{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]"),
		Entry("the same pods with a label", "{namespaceSelector: {matchExpressions: [{key: b, operator: Exists}], matchLabels: {c: one}}}",
			"[{namespaceSelector: {matchExpressions: [{key: b, operator: Exists}], matchLabels: {c: one}}}]"),
		Entry("the pods in the namespace if an empty value is lost", `{namespaceSelector: {matchLabels: {b: ""}}}`, "[{podSelector: {}}]"),
		Entry("more pods if an empty value is lost", `{podSelector: {matchLabels: {b: "", c: one}}}`, "[{podSelector: {matchLabels: {c: one}}}]"),
		Entry("other pods if an empty value is lost", `{namespaceSelector: {matchLabels: {b: ""}}, podSelector: {matchLabels: {c: one}}}`,
			"[{podSelector: {matchLabels: {c: one}}}]"),
	)
})

var _ = It("the OpenShift console has a switch only for fields of an Echo that can be switched independently", func(ctx SpecContext) {
	echo := createEcho(ctx, support.Echo(newNamespace(ctx), "switched", func(e *v1.Echo) {
		e.Spec.Checks = []v1.EchoCheck{{Name: "way", Schedule: "@daily"}}
	}))
	canSwitch := func(path string, on bool) error {
		spec := asMap(echo.Spec)
		switchField(spec, path, on)
		patch, err := json.Marshal(map[string]any{"spec": spec})
		Expect(err).NotTo(HaveOccurred())
		return k8s.Patch(ctx, echo.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll, client.FieldValidation("Strict"))
	}
	b := shippedBundle()
	for _, d := range b.SpecDescriptors {
		switch {
		case consoleform.At(b.Spec, d.Path)["type"] != "boolean" || !consoleform.OnPage(d):
		case slices.Contains(d.XDescriptors, "urn:alm:descriptor:com.tectonic.ui:booleanSwitch"):
			Expect(canSwitch(d.Path, true)).To(Succeed(), d.Path)
			Expect(canSwitch(d.Path, false)).To(Succeed(), d.Path)
		default:
			Fail("the form shows a checkbox for " + d.Path)
		}
	}
})

// switchField sets the boolean field at a descriptor's path. Each list in the path has one element.
func switchField(object map[string]any, path string, on bool) {
	name, inside, nested := strings.Cut(path, ".")
	if !nested {
		object[name] = on
		return
	}
	if list, isList := strings.CutSuffix(name, "[0]"); isList {
		switchField(object[list].([]any)[0].(map[string]any), inside, on)
		return
	}
	if object[name] == nil {
		object[name] = map[string]any{}
	}
	switchField(object[name].(map[string]any), inside, on)
}

// asMap converts a value to its JSON form.
func asMap(value any) map[string]any {
	GinkgoHelper()
	text, err := json.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	object := map[string]any{}
	Expect(json.Unmarshal(text, &object)).To(Succeed())
	return object
}

// hasEmpty reports whether a value contains an empty string, list, or object. The form drops these.
func hasEmpty(value any) bool {
	switch value := value.(type) {
	case string:
		return value == ""
	case map[string]any:
		for _, inside := range value {
			if hasEmpty(inside) {
				return true
			}
		}
		return len(value) == 0
	case []any:
		return len(value) == 0 || slices.ContainsFunc(value, hasEmpty)
	}
	return false
}

func shippedBundle() consoleform.Bundle {
	GinkgoHelper()
	b, err := consoleform.Read("../../bundle")
	Expect(err).NotTo(HaveOccurred())
	return b
}

// echoOf returns an Echo with exactly the given spec.
func echoOf(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "Echo", "metadata": map[string]any{"name": "form"}, "spec": spec}
}

// passForm returns the objects for a spec before and after the spec passes through the form, or nil if the API server rejects the spec.
func passForm(ctx context.Context, form, spec map[string]any) (before, after *made) {
	GinkgoHelper()
	object := echoOf(spec)
	if before = makeEcho(ctx, object); before == nil {
		return nil, nil
	}
	sample := map[string]any{"spec": map[string]any{"replicas": int64(2)}} // the console's form starts with the first example
	return before, makeEcho(ctx, consoleform.Posted(form, object, sample))
}

// made contains an Echo as the API server stores it, and the objects that the operator creates for it.
type made struct {
	echo    *v1.Echo
	objects map[string]*unstructured.Unstructured
}

// lost returns the spec fields that the form changed in a way that changes the Echo's objects.
func (m *made) lost(after *made) []string {
	GinkgoHelper()
	var lost []string
	before, now := asMap(m.echo.Spec), asMap(after.echo.Spec)
	for name, value := range before {
		if reflect.DeepEqual(value, now[name]) {
			continue
		}
		echo := &v1.Echo{}
		with := asMap(after.echo)
		with["spec"].(map[string]any)[name] = value
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(with, echo)).To(Succeed())
		if !reflect.DeepEqual(madeOf(echo).objects, after.objects) {
			lost = append(lost, name)
		}
	}
	return lost
}

// makeEcho returns an Echo with its objects, or nil if the API server or the operator rejects the Echo or one of its objects.
func makeEcho(ctx context.Context, object map[string]any) *made {
	GinkgoHelper()
	stored := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	stored.SetNamespace("default")
	if k8s.Create(ctx, stored, client.DryRunAll, client.FieldValidation("Strict")) != nil {
		return nil
	}
	echo := &v1.Echo{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, echo)).To(Succeed())
	children := childrenFor(echo)
	if underTest.Echoes.Policy.Check(echo, children...) != nil {
		return nil
	}
	for _, child := range children {
		if child.Desired == nil {
			continue
		}
		if err := k8s.Create(ctx, child.Desired.DeepCopy(), client.DryRunAll); err != nil && !meta.IsNoMatchError(err) {
			return nil
		}
	}
	return madeOf(echo)
}

func madeOf(echo *v1.Echo) *made {
	GinkgoHelper()
	m := &made{echo, map[string]*unstructured.Unstructured{}}
	for _, child := range childrenFor(echo) {
		if child.Desired != nil {
			m.objects[child.Kind] = child.Desired
		}
	}
	return m
}

// childrenFor returns the children that the operator creates for an Echo where all APIs are served.
func childrenFor(echo *v1.Echo) []objects.Child {
	GinkgoHelper()
	config := objects.Config{Images: objects.Images{EchoServer: echoServerImage, PathCheck: "pathcheck:1"}, Served: objects.Served{}}
	for _, kind := range objects.Table() {
		config.Served[kind.Kind] = true
	}
	all, err := objects.Desired(echo, config)
	Expect(err).NotTo(HaveOccurred())
	for i := range echo.Spec.Checks {
		check, err := objects.Check(echo, &echo.Spec.Checks[i], nil, config.Images, httpproxy.Config{})
		Expect(err).NotTo(HaveOccurred())
		check.Kind += " " + echo.Spec.Checks[i].Name
		all = append(all, check)
	}
	return all
}

var _ = Describe("samples and quick starts in the OpenShift console", Ordered, func() {
	It("are added by each operator that OLM installed, and owned by the ClusterRole that OLM created", func(ctx SpecContext) {
		server, admin := startCluster(append(support.GatewayCRDs(ctx), support.ConsoleCRDs(ctx))...)
		for _, name := range []string{"console-a", "console-b"} {
			Expect(admin.Create(ctx, &corev1.Namespace{Name: name + "-own"})).To(Succeed())
			user := addOperator(ctx, server, admin, name, []string{name + "-own"})
			Expect(controlplane.Grant(ctx, admin, "operator-"+name, metav1.NamespaceAll,
				manifest("manifests/console_role.yaml", &rbacv1.ClusterRole{}).Rules)).To(Succeed())
			Expect(admin.Create(ctx, &rbacv1.ClusterRole{Name: "of-olm-" + name, Labels: map[string]string{
				"olm.owner": "echo-operator.v0.1.0", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": name + "-own"}})).To(Succeed())
			startProgram([]string{"KUBECONFIG=" + writeKubeconfig(user.kubeconfig), "WATCH_NAMESPACE=" + name + "-own",
				"OPERATOR_CONDITION_NAME=echo-operator.v0.1.0"},
				"--leader-elect", "--leader-election-namespace="+name+"-own", "--health-probe-bind-address=0", "--metrics-bind-address=0")
		}
		ownedByBoth := HaveField("OwnerReferences", ConsistOf(
			And(HaveField("Kind", "ClusterRole"), HaveField("Name", "of-olm-console-a")),
			And(HaveField("Kind", "ClusterRole"), HaveField("Name", "of-olm-console-b"))))
		Eventually(func(g Gomega) {
			samples, starts := &consolev1.ConsoleYAMLSampleList{}, &consolev1.ConsoleQuickStartList{}
			g.Expect(admin.List(ctx, samples)).To(Succeed())
			g.Expect(admin.List(ctx, starts)).To(Succeed())
			g.Expect(len(samples.Items)).To(BeNumerically(">=", 7))
			g.Expect(samples.Items).To(HaveEach(ownedByBoth))
			g.Expect(samples.Items).To(ContainElement(HaveField("Name", "echo-operator-example-gateway")))
			g.Expect(starts.Items).To(ConsistOf(And(HaveField("Name", "echo-operator-first-echo"), ownedByBoth,
				HaveField("Spec.Tasks", HaveLen(3)))))
		}).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(specTimeout))
})
