package openshift

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestConsoleObjects(t *testing.T) {
	g := NewWithT(t)
	objects, err := ConsoleObjects()
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		g.Expect(found[o.GetName()]).To(BeNil(), "there are two %s", o.GetName())
		found[o.GetName()] = o
	}
	for name, title := range map[string]string{"example-full": "Most fields", "example-hello": "Another image",
		"example-ingress": "An Ingress",
		"example-tls":     "HTTPS", "example-faults": "Faults", "example-grpc": "gRPC", "example-gateway": "A Gateway",
		"example-checks":  "Checks",
		"snippet-ingress": "Expose under a host name", "first-echo": "Your first Echo"} {
		o := found["echo-operator-"+name]
		if o == nil {
			t.Errorf("there is no %s among %d objects", name, len(found))
			continue
		}
		spec := o.Object["spec"].(map[string]any)
		if got := spec["title"]; name != "first-echo" && got != title {
			t.Errorf("the title of %s is %q, want %q", name, got, title)
		}
	}
	g.Expect(found["echo-operator-example-autoscaled"]).To(BeNil(), "a sample of two objects cannot be created in the editor")
}

// TestSnippetsFitIntoASpec: each is a part of the spec of an Echo, without fields that do not exist.
func TestSnippetsFitIntoASpec(t *testing.T) {
	g := NewWithT(t)
	objects, err := ConsoleObjects()
	g.Expect(err).NotTo(HaveOccurred())
	snippets := 0
	for _, o := range objects {
		text, _, _ := unstructured.NestedString(o.Object, "spec", "yaml")
		if snippet, _, _ := unstructured.NestedBool(o.Object, "spec", "snippet"); snippet {
			snippets++
			g.Expect(yaml.UnmarshalStrict([]byte(text), &v1.EchoSpec{})).To(Succeed(), "%s", o.GetName())
		}
	}
	if snippets < 4 {
		t.Errorf("there are %d snippets", snippets)
	}
}

func TestDescribedBy(t *testing.T) {
	for text, want := range map[string][3]string{
		"# A\n# b\n# c\nkind: x\n": {"A", "b c", "kind: x\n"},
		"# A\nkind: x\n# b\n":      {"A", "", "kind: x\n# b\n"},
		"kind: x\n":                {"", "", "kind: x\n"},
		"":                         {"", "", ""},
	} {
		if title, description, content := describedBy(text); [3]string{title, description, content} != want {
			t.Errorf("%q: got %q, %q, %q", text, title, description, content)
		}
	}
}

// TestTheRoleNamesTheObjects: the operator may change no other samples and quick starts.
func TestTheRoleNamesTheObjects(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../config/rbac/openshift_role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
	var want, got []string
	objects, err := ConsoleObjects()
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		want = append(want, strings.ToLower(o.GetKind())+"s/"+o.GetName())
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
