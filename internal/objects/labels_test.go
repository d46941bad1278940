package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/echo-operator/echo-operator/tests/support"
)

// TestSelectorLabels checks which objects each selector selects. If a Service selected companions, it would send requests to them. If no
// cache selected an object, the object would appear to be missing.
func TestSelectorLabels(t *testing.T) {
	echo, neighbor := support.Echo("ns", "x"), support.Echo("ns", "y")
	selectors := map[string]labels.Selector{
		"Service and Deployment": labels.SelectorFromSet(SelectorLabels(echo)),
		"status of the Echo":     labels.SelectorFromSet(InstanceLabels(echo)),
		"cache":                  ManagedSelector(),
	}
	for name, c := range map[string]struct {
		labels map[string]string
		by     []string
	}{
		"a pod of the Echo":           {ChildLabels(echo), []string{"Service and Deployment", "status of the Echo", "cache"}},
		"a companion of the Echo":     {CompanionLabels(echo), []string{"status of the Echo", "cache"}},
		"a pod of another Echo":       {ChildLabels(neighbor), []string{"cache"}},
		"a companion of another Echo": {CompanionLabels(neighbor), []string{"cache"}},
		"a pod without labels":        {nil, nil},
		"a pod of Helm":               {map[string]string{LabelName: NameValue, LabelManagedBy: "Helm"}, nil},
		"a pod of Helm, same name": {map[string]string{LabelName: NameValue, LabelInstance: "x", LabelManagedBy: "Helm"},
			[]string{"Service and Deployment"}},
	} {
		want := map[string]bool{}
		for _, selector := range c.by {
			want[selector] = true
		}
		for selector, s := range selectors {
			NewWithT(t).Expect(s.Matches(labels.Set(c.labels))).To(Equal(want[selector]), "%s is selected by %s", name, selector)
		}
	}
}

func TestChildLabels_validForLongestName(t *testing.T) {
	// This is the longest name that the schema accepts. The name is also a label value.
	longest := support.Echo("ns", "a23456789-123456789-123456789-123456789-123456789-123456789-123")
	for name, all := range map[string]map[string]string{"children": ChildLabels(longest), "companions": CompanionLabels(longest)} {
		for key, value := range all {
			problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
			NewWithT(t).Expect(problems).To(BeNil(), "%s: %s=%s", name, key, value)
		}
	}
}

func TestEchoOf(t *testing.T) {
	g := NewWithT(t)
	pod := support.PodWithCompanionLabel()
	g.Expect(EchoOf(pod)).To(BeEmpty())
	for name, all := range map[string]map[string]string{"a pod": ChildLabels(support.Echo("ns", "x")),
		"a companion": CompanionLabels(support.Echo("ns", "x"))} {
		pod.Labels = all
		g.Expect(EchoOf(pod)).To(Equal("x"), name)
	}
}
