package packaging

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const managedBy = "app.kubernetes.io/managed-by"

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(inProject("charts", "echo-operator"))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render returns the files that Helm renders from the chart for the echo-operator-system namespace. Values have the format of Helm's --set.
func render(t *testing.T, set ...string) (map[string]string, error) {
	t.Helper()
	values := map[string]any{}
	for _, each := range set {
		if err := strvals.ParseInto(each, values); err != nil {
			t.Fatal(err)
		}
	}
	return renderIn(t, "echo-operator-system", values)
}

func renderIn(t *testing.T, namespace string, values map[string]any) (map[string]string, error) {
	t.Helper()
	loaded := loadChart(t)
	release := chartutil.ReleaseOptions{Name: "x", Namespace: namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, all)
}

// installed returns the chart's objects by kind and name.
func installed(t *testing.T, set ...string) map[string]map[string]any {
	t.Helper()
	files, err := render(t, set...)
	if err != nil {
		t.Fatalf("%v: %v", set, err)
	}
	objects := map[string]map[string]any{}
	for file, content := range files {
		if path.Ext(file) == ".yaml" {
			maps.Copy(objects, objectsIn(t, content))
		}
	}
	return objects
}

// objectsIn returns the objects in manifests by kind and name. Outside the operator's namespace, the key also contains the namespace.
func objectsIn(t *testing.T, manifests string) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for document := range strings.SplitSeq("\n"+manifests, "\n---\n") {
		object := unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		if len(object.Object) == 0 {
			continue
		}
		name := object.GetKind() + " " + object.GetName()
		if namespace := object.GetNamespace(); namespace != "" && namespace != "echo-operator-system" {
			name += " in " + namespace
		}
		objects[name] = object.Object
	}
	return objects
}

// kustomized returns the objects that kustomize generates from a kustomization, which may reference any files below config.
func kustomized(t *testing.T, kustomization string) map[string]map[string]any {
	t.Helper()
	files := filesys.MakeFsInMemory()
	for _, file := range filesBelow(t, "config") {
		if err := files.WriteFile(file, []byte(text(t, file))); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.WriteFile("test/kustomization.yaml", []byte(kustomization)); err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "test")
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return objectsIn(t, string(manifests))
}

// TestChart_isTheInstaller checks that the chart and install.yaml contain the same objects, except for the differences that the test lists.
func TestChart_isTheInstaller(t *testing.T) {
	want, got := kustomized(t, "resources: [../config/default]"), installed(t)
	delete(want, "Namespace echo-operator-system") // with --create-namespace, Helm creates the namespace
	definition := unstructured.Unstructured{Object: want["CustomResourceDefinition echoes.example.com"]}
	definition.SetAnnotations(merged(definition.GetAnnotations(), "helm.sh/resource-policy", "keep"))
	for _, object := range want {
		object := unstructured.Unstructured{Object: object}
		if object.GetLabels()[managedBy] != "" {
			object.SetLabels(merged(object.GetLabels(), managedBy, "Helm"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("- install.yaml, + chart: %s", diff)
	}
}

func merged(labels map[string]string, key, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[key] = value
	return labels
}

// TestChart_describesItself checks the chart's metadata and notes. The values of Artifact Hub annotations are YAML.
func TestChart_describesItself(t *testing.T) {
	for name, value := range loadChart(t).Metadata.Annotations {
		var parsed any
		if err := yaml.Unmarshal([]byte(value), &parsed); err != nil || !strings.HasPrefix(name, "artifacthub.io/") {
			t.Errorf("annotation %s: %v", name, err)
		}
	}
	level := loadChart(t).Metadata.Annotations["artifacthub.io/operatorCapabilities"]
	if want := bundleCSV(t).Annotations["capabilities"]; level != want {
		t.Errorf("the chart has the capability level %q, but the bundle has %q", level, want)
	}
	notes, err := render(t, "watchNamespaces={team-a,team-b}", "imagePullSecrets[0].name=mirror")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"serves Echoes in team-a, team-b.", `"namespace":"team-a"},"spec":{"imagePullSecrets":[{"name":"mirror"}]}}`,
		" -n team-a echo/test-echo\n", "\n  kubectl delete echoes --all --all-namespaces\n"} {
		if !strings.Contains(notes["echo-operator/templates/NOTES.txt"], want) {
			t.Errorf("the notes do not contain %q: %s", want, notes["echo-operator/templates/NOTES.txt"])
		}
	}
}

// filesBelow returns all files below a directory of the project.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(inProject()), folder, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
