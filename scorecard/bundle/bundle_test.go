package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadsTheBundle(t *testing.T) {
	bundle, err := Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	if owned := bundle.CSV.Spec.CustomResourceDefinitions.Owned; len(owned) != 1 || len(owned[0].SpecDescriptors) == 0 || len(owned[0].StatusDescriptors) == 0 {
		t.Fatalf("the bundle owns %+v", owned)
	}
	install := bundle.CSV.Spec.Install.Spec
	if len(install.Deployments) != 1 || install.Deployments[0].Spec.Selector == nil {
		t.Errorf("the deployments are %+v", install.Deployments)
	}
	if len(install.Permissions) != 1 || len(install.ClusterPermissions) != 1 || install.Permissions[0].ServiceAccountName == "" {
		t.Errorf("the permissions are %+v and %+v", install.Permissions, install.ClusterPermissions)
	}
}

func TestReadsTheExamples(t *testing.T) {
	bundle, err := Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	if examples, err := bundle.Examples(); err != nil || len(examples) < 2 || examples[0].GetKind() != "Echo" {
		t.Errorf("the examples are %v, %v", examples, err)
	}
}

func TestSchemaOfAPath(t *testing.T) {
	bundle, err := Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	schema, ok := bundle.Schema(bundle.CSV.Spec.CustomResourceDefinitions.Owned[0])
	if !ok {
		t.Fatal("there is no schema")
	}
	for path, want := range map[string]string{"spec.replicas": "integer", "spec.imagePullSecrets[0].name": "string", "status.conditions": "array"} {
		if field, ok := schema.At(path); !ok || field.Type != want {
			t.Errorf("%s is of type %q, want %q", path, field.Type, want)
		}
	}
	for _, path := range []string{"spec.nothing", "spec.replicas[0]", "spec.imagePullSecrets.name"} {
		if field, ok := schema.At(path); ok {
			t.Errorf("%s is %+v, and should not exist", path, field)
		}
	}
	if kind, _ := schema.At("spec.service.type"); len(kind.Enum) != 3 {
		t.Errorf("the types of a Service are %v", kind.Enum)
	}
}

func TestRefusesAFolderWithoutACSV(t *testing.T) {
	folder := t.TempDir()
	if _, err := Read(folder); err == nil {
		t.Error("a folder without manifests was read")
	}
	if err := os.Mkdir(filepath.Join(folder, "manifests"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "manifests", "x.yaml"), []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(folder); err == nil {
		t.Error("a manifest that is no YAML was read")
	}
}

// folder makes a bundle with manifests, which are named by their numbers.
func folder(t *testing.T, manifests ...string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "manifests"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, manifest := range manifests {
		if err := os.WriteFile(filepath.Join(root, "manifests", fmt.Sprintf("%d.yaml", i)), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestManifestsOfABundle(t *testing.T) {
	const (
		csv     = "kind: ClusterServiceVersion\nspec: {customresourcedefinitions: {owned: [{name: a, version: v1}]}}\n"
		crd     = "kind: CustomResourceDefinition\nmetadata: {name: a}\n"
		service = "kind: Service\nmetadata: {name: 5}\nspec: a text where others have an object\n"
	)
	for name, c := range map[string]struct {
		manifests []string
		crds      int
		want      string
	}{
		"in any order":                  {[]string{crd, csv, crd}, 2, ""},
		"other kinds are left alone":    {[]string{service, csv}, 0, ""},
		"no ClusterServiceVersion":      {[]string{crd}, 1, "there are 0 ClusterServiceVersions"},
		"two ClusterServiceVersions":    {[]string{csv, csv}, 0, "there are 2 ClusterServiceVersions"},
		"a damaged file is named":       {[]string{csv, "kind: [\n"}, 0, "1.yaml: "},
		"a field that is another type":  {[]string{"kind: ClusterServiceVersion\nspec: {install: nothing}\n"}, 0, "0.yaml: "},
		"a CRD of another type":         {[]string{csv, "kind: CustomResourceDefinition\nspec: {versions: none}\n"}, 1, "1.yaml: "},
		"a manifest that is no object":  {[]string{csv, "- kind: Service\n"}, 0, "1.yaml: "},
		"a manifest that has no object": {[]string{csv, "# nothing\n"}, 0, ""},
	} {
		bundle, err := Read(folder(t, c.manifests...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if len(bundle.CRDs) != c.crds {
			t.Errorf("%s: there are %d CustomResourceDefinitions, want %d", name, len(bundle.CRDs), c.crds)
		}
		if owned := bundle.CSV.Spec.CustomResourceDefinitions.Owned; err == nil && (len(owned) != 1 || owned[0].Name != "a") {
			t.Errorf("%s: the bundle owns %+v", name, owned)
		}
	}
	root := folder(t, csv)
	if err := os.Mkdir(filepath.Join(root, "manifests", "folder.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(root); err == nil || !strings.Contains(err.Error(), "folder.yaml") {
		t.Errorf("with a folder among the manifests: %v", err)
	}
}

func TestExamplesThatAreNone(t *testing.T) {
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

// TestSchemaOfAVersion checks that the kinds of a bundle, and the versions of a kind, each have a schema of their own.
func TestSchemaOfAVersion(t *testing.T) {
	crd := func(name string) string {
		return fmt.Sprintf("kind: CustomResourceDefinition\nmetadata: {name: %s}\nspec: {versions: [%s, %s]}\n", name,
			fmt.Sprintf("{name: v1, schema: {openAPIV3Schema: {type: %s-v1}}}", name), fmt.Sprintf("{name: v2, schema: {openAPIV3Schema: {type: %s-v2}}}", name))
	}
	bundle, err := Read(folder(t, "kind: ClusterServiceVersion\n", crd("a"), crd("b")))
	if err != nil {
		t.Fatal(err)
	}
	for owned, want := range map[[2]string]string{
		{"a", "v1"}: "a-v1", {"a", "v2"}: "a-v2", {"b", "v1"}: "b-v1", {"b", "v2"}: "b-v2", {"a", "v3"}: "", {"c", "v1"}: "", {"", ""}: "",
	} {
		schema, ok := bundle.Schema(Owned{Name: owned[0], Version: owned[1]})
		if ok != (want != "") || schema.Type != want {
			t.Errorf("the schema of %v is %+v, %t, want %q", owned, schema, ok, want)
		}
	}
}
