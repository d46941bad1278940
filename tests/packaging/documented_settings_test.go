package packaging

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// yamlBlock returns the first YAML block in a section of a page. Its files are local, and its version is the version of the chart.
func yamlBlock(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, _ := strings.Cut(text(t, page), "\n"+heading+"\n")
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)
	if found == nil {
		t.Fatalf("%s has no YAML in the section %s", page, heading)
	}
	const project = "https://github.com/echo-operator/echo-operator/"
	return strings.NewReplacer(project+"releases/download/v1.2.3/install.yaml", "../config/default", project, "../", "?ref=v1.2.3", "",
		":v1.2.3", ":v"+version(t)).Replace(found[1])
}

// TestKustomize_documented checks that the documented kustomization of install.yaml makes exactly the described changes.
func TestKustomize_documented(t *testing.T) {
	got := changes(t, kustomized(t, "resources: [../config/default]"),
		kustomized(t, yamlBlock(t, "docs/reference/configuration.md", "### Kustomize")))
	want := []string{"- name: MAX_REPLICAS", "- name: POD_SECURITY", "NetworkPolicy echo-operator-controller-manager", `value: "3"`,
		"value: restricted"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the kustomization changes %q, want %q", got, want)
	}
}

// TestPlacement_documented checks that the documented values of the chart and the documented kustomization have the same result, and that
// the documented Subscription requests the same for each field that a Subscription has.
func TestPlacement_documented(t *testing.T) {
	const page = "docs/how-to/restricted-clusters.md"
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(yamlBlock(t, page, "### Nodes and registry with Helm")), &values); err != nil {
		t.Fatal(err)
	}
	files, err := renderIn(t, "echo-operator-system", values)
	if err != nil {
		t.Fatal(err)
	}
	chart := podTemplate(t, objectsIn(t, files["echo-operator/templates/deployment.yaml"]))
	kustomization := podTemplate(t, kustomized(t, yamlBlock(t, page, "### Nodes and registry with kustomize")))
	byName := cmpopts.SortSlices(func(a, b corev1.EnvVar) bool { return a.Name < b.Name })
	if diff := cmp.Diff(kustomization, chart, byName); diff != "" {
		t.Errorf("- kustomize, + chart: %s", diff)
	}
	subscription := &operatorsv1alpha1.Subscription{}
	if err := yaml.UnmarshalStrict([]byte(yamlBlock(t, page, "### Nodes and registry with OLM")), subscription); err != nil {
		t.Fatal(err)
	}
	config := subscription.Spec.Config
	if diff := cmp.Diff(chart.Spec.NodeSelector, config.NodeSelector); diff != "" {
		t.Errorf("- chart, + Subscription: %s", diff)
	}
	for _, toleration := range config.Tolerations {
		if !slices.Contains(chart.Spec.Tolerations, toleration) {
			t.Errorf("the chart does not set the toleration %v", toleration)
		}
	}
	for key, value := range config.Annotations {
		if chart.Annotations[key] != value {
			t.Errorf("the chart does not set the annotation %s", key)
		}
	}
}
