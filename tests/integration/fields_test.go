package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/specs"
)

var _ = Describe("a field of the spec", func() {
	schema := readSchema()
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		switch name {
		case "paused", "checks", "monitoring", "gateway": // these fields have no effect, or only on objects that childrenAsYAML does not read
			continue
		}
		property := schema.Properties[name]
		draw := func(t *rapid.T) map[string]any {
			spec := map[string]any{name: specs.DrawValue(t, specs.Field{Path: []string{name}, Schema: &property})}
			specs.AddRequired(spec)
			return spec
		}
		for seed := range 2 {
			It(fmt.Sprintf("that is set, changed, and unset results in the same children as a new Echo with the same spec: %s, %d", name, seed),
				func(ctx SpecContext) {
					one, two := drawn(ctx, 100*seed, draw), drawn(ctx, 100*seed+50, draw)
					expectSameChildren(ctx, one, two, one, support.Echo("", "").Spec)
				})
		}
	}
})

var _ = Describe("a spec", func() {
	for seed := range 10 {
		It(fmt.Sprintf("that replaces others results in the same children as a new Echo with the same spec: %d", seed), func(ctx SpecContext) {
			schema := readSchema()
			delete(schema.Properties, "paused") // a new Echo that is paused has no children
			var all []v1.EchoSpec
			for step := range 6 {
				all = append(all, drawn(ctx, 1000*seed+100*step, func(t *rapid.T) map[string]any { return specs.Draw(t, schema, 5) }))
			}
			expectNoWrite(ctx, expectSameChildren(ctx, all...))
		})
	}
})

// drawn returns a spec that the API server and the operator accept.
func drawn(ctx context.Context, seed int, draw func(*rapid.T) map[string]any) v1.EchoSpec {
	GinkgoHelper()
	for ; ; seed++ {
		if echo := accepted(ctx, rapid.Custom(draw).Example(seed)); echo != nil {
			spec := echo.Spec
			if spec.PodSecurityContext != nil && minorVersion(cluster) < 32 { // which does not have these fields
				spec.PodSecurityContext.SELinuxChangePolicy, spec.PodSecurityContext.SupplementalGroupsPolicy = nil, nil
			}
			return spec
		}
	}
}

// accepted returns an Echo as the API server would store it, or nil if the API server or the operator rejects it or one of its objects.
func accepted(ctx context.Context, spec map[string]any) *v1.Echo {
	GinkgoHelper()
	stored := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "Echo", "spec": spec}}
	stored.SetNamespace("default")
	stored.SetName("drawn")
	if k8s.Create(ctx, stored, client.DryRunAll, client.FieldValidation("Strict")) != nil {
		return nil
	}
	echo := &v1.Echo{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, echo)).To(Succeed())
	children, err := objects.Desired(echo, objects.Config{Images: objects.Images{EchoServer: echoServerImage}})
	Expect(err).NotTo(HaveOccurred())
	if underTest.Echoes.Policy.Check(echo, children...) != nil {
		return nil
	}
	for _, child := range children {
		if child.Desired != nil && k8s.Create(ctx, child.Desired.DeepCopy(), client.DryRunAll) != nil {
			return nil
		}
	}
	return echo
}

// expectSameChildren gives an Echo one spec after another, and expects that it then has the same children as a new Echo with the same spec.
func expectSameChildren(ctx context.Context, all ...v1.EchoSpec) *v1.Echo {
	GinkgoHelper()
	namespace := newNamespace(ctx)
	changed := createEcho(ctx, support.Echo(namespace, "changed"))
	for step, spec := range all {
		created := createEcho(ctx, support.Echo(namespace, fmt.Sprintf("created-%d", step), func(e *v1.Echo) { e.Spec = spec }))
		edit(ctx, changed, func(e *v1.Echo) { e.Spec = spec })
		Eventually(func(g Gomega) {
			g.Expect(childrenAsYAML(ctx, g, changed)).To(Equal(childrenAsYAML(ctx, g, created)))
		}).WithContext(ctx).Should(Succeed())
	}
	return changed
}

// readSchema returns the schema of an Echo's spec.
func readSchema() *specs.Schema {
	schema, err := specs.Read(filepath.Join(configFolder, "crd", "bases", "example.com_echoes.yaml"))
	if err != nil {
		panic(err) // the tree of specs depends on the schema
	}
	return schema
}

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

// dropEmpty removes empty maps from a tree. The API server keeps maps that were empty at creation, and removes maps emptied later.
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
