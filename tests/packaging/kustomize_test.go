package packaging

import (
	"regexp"
	"strings"
	"testing"
)

// TestKustomize_documented checks that the documented kustomization of install.yaml makes exactly the changes that its description
// mentions.
func TestKustomize_documented(t *testing.T) {
	_, section, _ := strings.Cut(text(t, "docs/reference/configuration.md"), "\n### Kustomize\n")
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(section)
	if found == nil {
		t.Fatal("there is no kustomization")
	}
	const project = "https://github.com/echo-operator/echo-operator/"
	local := strings.NewReplacer(project+"releases/download/v1.2.3/install.yaml", "../config/default", project, "../", "?ref=v1.2.3", "").Replace(found[1])
	got := changes(t, kustomized(t, "resources: [../config/default]"), kustomized(t, local))
	want := []string{"- name: MAX_REPLICAS", "- name: POD_SECURITY", "NetworkPolicy echo-operator-controller-manager", `value: "3"`,
		"value: restricted"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the kustomization changes %q, want %q", got, want)
	}
}
