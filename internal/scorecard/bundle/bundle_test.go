package bundle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestRead(t *testing.T) {
	bundle, err := Read("../../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	owned := bundle.CSV.Spec.CustomResourceDefinitions.Owned
	if len(owned) != 1 || len(owned[0].SpecDescriptors) == 0 || len(owned[0].StatusDescriptors) == 0 {
		t.Fatalf("the bundle owns %+v", owned)
	}
	install := bundle.CSV.Spec.Install.Spec
	if len(install.Deployments) != 1 || install.Deployments[0].Spec.Selector == nil {
		t.Errorf("the deployments are %+v", install.Deployments)
	}
	if len(install.Permissions) != 1 || len(install.ClusterPermissions) != 1 || install.Permissions[0].ServiceAccountName == "" {
		t.Errorf("the permissions are %+v and %+v", install.Permissions, install.ClusterPermissions)
	}
	if examples, err := bundle.Examples(); err != nil || len(examples) < 2 || examples[0].GetKind() != "Echo" {
		t.Errorf("the examples are %v, %v", examples, err)
	}
	schema, ok := bundle.Schema(owned[0])
	if kind, found := schema.At("spec.service.type"); !ok || !found || kind.Type != "string" || len(kind.Enum) != 3 {
		t.Errorf("the type of a Service is %+v", kind)
	}
}

func TestRead_reportsUnreadableFiles(t *testing.T) {
	for file, want := range map[string]string{
		"echo-operator.clusterserviceversion.yaml": "example.com_echoes.yaml: no such file",
		"example.com_echoes.yaml":                  "echo-operator.clusterserviceversion.yaml: no such file",
	} {
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "manifests"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "manifests", file), []byte("spec: {install: [\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(folder); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file+": ") {
			t.Errorf("with a damaged %s alone: %v, want %q", file, err, want)
		}
	}
}

func TestExamples_rejectsInvalidAnnotation(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"no annotation": nil,
		"no JSON":       {"alm-examples": "- kind: Echo"},
		"no list":       {"alm-examples": `{"kind": "Echo"}`},
		"no kind":       {"alm-examples": `[{"metadata": {}}]`},
	} {
		var b Bundle
		b.CSV.Metadata.Annotations = annotations
		if examples, err := b.Examples(); err == nil || !strings.HasPrefix(err.Error(), "reading the annotation alm-examples: ") {
			t.Errorf("%s: %v, %v", name, examples, err)
		}
	}
}

func TestSchema(t *testing.T) {
	var b Bundle
	crd := "metadata: {name: a}\nspec: {versions: [{name: v1, schema: {openAPIV3Schema: {type: x}}}, " +
		"{name: v2, schema: {openAPIV3Schema: {type: z}}}]}\n"
	if err := yaml.Unmarshal([]byte(crd), &b.CRD); err != nil {
		t.Fatal(err)
	}
	for owned, want := range map[[2]string]string{{"a", "v1"}: "x", {"a", "v2"}: "z", {"a", "v3"}: "", {"b", "v1"}: "", {"", ""}: ""} {
		schema, ok := b.Schema(Owned{Name: owned[0], Version: owned[1]})
		if ok != (want != "") || schema.Type != want {
			t.Errorf("the schema of %v is %+v, %t, want %q", owned, schema, ok, want)
		}
	}
}

func TestListed(t *testing.T) {
	for name, c := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  []string
	}{
		"no rules":      {nil, nil},
		"without verbs": {[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}}}, nil},
		"groups, resources, and verbs": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"", "a"}, Resources: []string{"x", "y/z"}, Verbs: []string{"get", "list"}}},
			[]string{"get x", "list x", "get y/z", "list y/z", "get x.a", "list x.a", "get y/z.a", "list y/z.a"}},
		"objects": {
			[]rbacv1.PolicyRule{{APIGroups: []string{"a"}, Resources: []string{"x"}, ResourceNames: []string{"n", "o"}, Verbs: []string{"get"}}},
			[]string{"get x.a/n", "get x.a/o"}},
	} {
		var got []string
		for _, permission := range Listed(c.rules) {
			got = append(got, permission.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

const nested = `
type: object
properties:
  spec:
    type: object
    properties:
      name: {type: string, enum: [A, B]}
      "[0]": {type: boolean}
      list:
        type: array
        items:
          type: object
          properties:
            port: {type: integer}
            deeper: {type: array, items: {type: array, items: {type: number}}}
      map: {type: object, additionalProperties: {type: string}}
`

func TestAt(t *testing.T) {
	var schema Schema
	if err := yaml.Unmarshal([]byte(nested), &schema); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec":                        "object",
		"spec.name":                   "string",
		"spec.list":                   "array",
		"spec.list[0]":                "object",
		"spec.list[0].port":           "integer",
		"spec.list[0].deeper":         "array",
		"spec.list[0].deeper[0]":      "array",
		"spec.map":                    "object",
		"":                            "none",
		"name":                        "none",
		".spec":                       "none",
		"spec.":                       "none",
		"spec..name":                  "none",
		"spec.Name":                   "none",
		"spec.name.first":             "none",
		"spec.name[0]":                "none",
		"spec.list.port":              "none",
		"spec.list[1].port":           "none",
		"spec.list[0]port":            "none",
		"spec.list[0].deeper[0].port": "none",
		"spec.map.key":                "none",
		"spec[0].name":                "none",
	} {
		got := "none"
		if field, ok := schema.At(path); ok {
			got = field.Type
		}
		if got != want {
			t.Errorf("%q is of type %s, want %s", path, got, want)
		}
	}
}
