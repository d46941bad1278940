package bundle

import (
	"os"
	"path/filepath"
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
