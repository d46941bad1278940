package integration

import (
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	consolev1 "github.com/openshift/api/console/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/consoleform"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("the OpenShift console", func() {
	var entries []TableEntry
	for _, f := range append(fields(), fieldsWithOtherTests()...) {
		entries = append(entries, Entry(f.name, f.one), Entry(f.name+", another value", f.two))
	}
	DescribeTable("posts a form with one filled-in field, which is accepted", func(ctx SpecContext, fillIn func(*v1.EchoSpec)) {
		b := shippedBundle()
		echo := support.Echo("", "")
		fillIn(&echo.Spec)
		data := runtime.DeepCopyJSON(b.Sample)
		overlay(data, asMap(map[string]any{"spec": echo.Spec}))
		posted := &unstructured.Unstructured{Object: consoleform.Posted(b.Schema, data, b.Sample)}
		posted.SetNamespace("default")
		posted.SetName("from-the-form")
		Expect(posted.Object).NotTo(HaveKey("status"))
		Expect(k8s.Create(ctx, posted, client.DryRunAll)).To(Succeed())
	}, entries)

	It("has a switch on the page of an Echo only for fields that can be switched independently", func(ctx SpecContext) {
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
		var boxes []string
		for _, d := range b.SpecDescriptors {
			switch {
			case consoleform.At(b.Spec, d.Path)["type"] != "boolean" || !consoleform.OnPage(d):
			case slices.Contains(d.XDescriptors, "urn:alm:descriptor:com.tectonic.ui:booleanSwitch"):
				Expect(canSwitch(d.Path, true)).To(Succeed(), d.Path)
				Expect(canSwitch(d.Path, false)).To(Succeed(), d.Path)
			default: // the form shows a checkbox
				Expect(canSwitch(d.Path, true)).NotTo(Succeed(), d.Path)
				boxes = append(boxes, d.Path)
			}
		}
		Expect(boxes).To(ConsistOf("ingress.tls", "gateway.enabled"))
	})
})

func shippedBundle() consoleform.Bundle {
	GinkgoHelper()
	b, err := consoleform.Read("../../bundle")
	Expect(err).NotTo(HaveOccurred())
	return b
}

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

// overlay copies the fields of one object into another object.
func overlay(object, fields map[string]any) {
	for name, value := range fields {
		inside, isObject := value.(map[string]any)
		if old, found := object[name].(map[string]any); isObject && found {
			overlay(old, inside)
			continue
		}
		object[name] = value
	}
}

var _ = Describe("samples and quick starts in the OpenShift console", Ordered, func() {
	It("are added by each operator that OLM installed, and owned by the ClusterRole that OLM created", func(ctx SpecContext) {
		server, admin := startCluster(append(support.GatewayCRDs(ctx), support.ConsoleCRDs(ctx))...)
		for _, name := range []string{"console-a", "console-b"} {
			Expect(admin.Create(ctx, &corev1.Namespace{Name: name + "-own"})).To(Succeed())
			user := addOperator(ctx, server, admin, name, []string{name + "-own"})
			Expect(controlplane.Grant(ctx, admin, "operator-"+name, metav1.NamespaceAll,
				manifest("rbac/openshift_role.yaml", &rbacv1.ClusterRole{}).Rules)).To(Succeed())
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
