package openshift

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// objectsByName returns, by name, the console objects for a cluster that serves Gateway API.
func objectsByName(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := ConsoleObjects(true)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	found := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		if found[o.GetName()] != nil {
			t.Errorf("there are two %s", o.GetName())
		}
		found[o.GetName()] = o
	}
	return found
}

// TestConsoleObjects checks that the first line of a sample's initial comment is its title, and that its text begins after the comment.
func TestConsoleObjects(t *testing.T) {
	for name, o := range objectsByName(t) {
		title, _, _ := unstructured.NestedString(o.Object, "spec", "title")
		text, _, _ := unstructured.NestedString(o.Object, "spec", "yaml")
		if isSample := o.GetKind() == "ConsoleYAMLSample"; isSample != (title != "" && text != "") || strings.HasPrefix(text, "# ") {
			t.Errorf("%s has the title %q and the text %q", name, title, text)
		}
	}
	full := objectsByName(t)["echo-operator-example-full"]
	NewWithT(t).Expect(full.Object["spec"]).To(HaveKeyWithValue("title", "Most fields"))
}

func TestConsoleObjects_withoutGatewayAPI(t *testing.T) {
	g := NewWithT(t)
	with, err := ConsoleObjects(true)
	g.Expect(err).NotTo(HaveOccurred())
	without, err := ConsoleObjects(false)
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range without {
		text, _, _ := unstructured.NestedString(o.Object, "spec", "yaml")
		g.Expect(text).NotTo(ContainSubstring("gateway:"), o.GetName())
	}
	g.Expect(with).To(HaveLen(len(without) + 1))
}

// TestConsoleObjects_offersSampleFiles checks that every file is a sample, unless samples.go explains why it is not.
func TestConsoleObjects_offersSampleFiles(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/v1_*.yaml")
	if err != nil || len(files) < 9 {
		t.Fatalf("found %q, %v", files, err)
	}
	found := objectsByName(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		isSample := found["echo-operator-"+strings.ReplaceAll(name, "v1_echo_", "example-")] != nil
		if isSample == slices.Contains([]string{"v1_echo", "v1_echo_autoscaled", "v1_echo_hello"}, name) {
			t.Errorf("%s: the console offers it: %t", file, isSample)
		}
	}
}

// TestConsoleObjects_titlesNamePrerequisites checks that the title of a sample names the Secret, Gateway, or host name that it requires.
func TestConsoleObjects_titlesNamePrerequisites(t *testing.T) {
	for name, o := range objectsByName(t) {
		spec := o.Object["spec"].(map[string]any)
		text, _ := spec["yaml"].(string)
		title, _ := spec["title"].(string)
		for needed, pattern := range map[string]string{
			"the Secret %s":  `secretName: (\S+)|secretKeyRef:\s+name: (\S+)`,
			"the Gateway %s": `parentRefs:\s+- name: (\S+)`,
			"in DNS%.0s":     `(?m)(?:host:|-) \S+\.example\.com$`,
		} {
			for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
				if want := fmt.Sprintf(needed, strings.Join(found[1:], "")); !strings.Contains(title, want) {
					t.Errorf("%s: the title %q does not contain %q", name, title, want)
				}
			}
		}
	}
}

// TestConsoleObjects_usesFullImageNames checks that image names include a registry and a fixed tag. A short name depends on the registries
// in a node's configuration, and a tag that is not fixed can refer to another image later.
func TestConsoleObjects_usesFullImageNames(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	snippets, err := filepath.Glob("console_objects/*/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	seen := 0
	for _, file := range append(files, snippets...) {
		text, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, found := range regexp.MustCompile(`image: (\S+)`).FindAllStringSubmatch(string(text), -1) {
			seen++
			if !regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+/[a-z0-9./-]+:v?\d[\w.-]*$`).MatchString(found[1]) {
				t.Errorf("%s has the image %s", file, found[1])
			}
		}
	}
	if seen == 0 {
		t.Error("there is no image")
	}
}

// TestConsoleObjects_snippetsFitSpec checks that each snippet is a valid part of an Echo's spec and has no unknown fields.
func TestConsoleObjects_snippetsFitSpec(t *testing.T) {
	g := NewWithT(t)
	snippets := 0
	for name, o := range objectsByName(t) {
		text, _, _ := unstructured.NestedString(o.Object, "spec", "yaml")
		description, _, _ := unstructured.NestedString(o.Object, "spec", "description")
		if snippet, _, _ := unstructured.NestedBool(o.Object, "spec", "snippet"); snippet {
			snippets++
			g.Expect(yaml.UnmarshalStrict([]byte(text), &v1.EchoSpec{})).To(Succeed(), name)
			g.Expect(description).To(HaveSuffix(". Place the cursor below spec, indented by two spaces."), name)
		}
	}
	if snippets < 4 {
		t.Errorf("there are %d snippets", snippets)
	}
}

// TestConsoleObjects_quickStartIcon checks that a quick start has the operator's icon.
func TestConsoleObjects_quickStartIcon(t *testing.T) {
	icon, _, _ := unstructured.NestedString(objectsByName(t)["echo-operator-first-echo"].Object, "spec", "icon")
	encoded, found := strings.CutPrefix(icon, "data:image/svg+xml;base64,")
	if svg, err := base64.StdEncoding.DecodeString(encoded); err != nil || !found || !strings.HasPrefix(string(svg), "<svg ") {
		t.Errorf("the icon is %q", icon)
	}
}

// TestConsoleObjects_matchesRole checks that the operator may change only its own samples and quick starts.
func TestConsoleObjects_matchesRole(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../config/manifests/console_role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
	var want, got []string
	for name, o := range objectsByName(t) {
		want = append(want, strings.ToLower(o.GetKind())+"s/"+name)
	}
	for _, rule := range role.Rules {
		for _, name := range rule.ResourceNames {
			if slices.Contains(rule.Verbs, "patch") {
				got = append(got, strings.Join(rule.Resources, "+")+"/"+name)
			}
		}
	}
	slices.Sort(want)
	g.Expect(got).To(HaveExactElements(want))
}
