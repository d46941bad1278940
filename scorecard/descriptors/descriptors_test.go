package descriptors

import (
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

func TestDescriptorsOfTheBundle(t *testing.T) {
	b, err := bundle.Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range Problems(b) {
		t.Error(problem)
	}
	if owned := b.CSV.Spec.CustomResourceDefinitions.Owned; len(owned) != 1 || len(owned[0].SpecDescriptors) == 0 {
		t.Errorf("the bundle owns %+v", owned)
	}
}

func TestACRDThatIsMissing(t *testing.T) {
	b, err := bundle.Read("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	b.CSV.Spec.CustomResourceDefinitions.Owned[0].Version = "v9"
	if problems := Problems(b); len(problems) != 1 || !strings.Contains(problems[0], "version v9") {
		t.Errorf("the problems are %v", problems)
	}
}

// fields returns a spec with a field of each type.
func fields() bundle.Schema {
	return bundle.Schema{Properties: map[string]bundle.Schema{
		"count":  {Type: "integer"},
		"on":     {Type: "boolean"},
		"text":   {Type: "string"},
		"choice": {Type: "string", Enum: []any{"A", "B"}},
		"list":   {Type: "array"},
		"group":  {Type: "object"},
	}}
}

func described(path string, xs ...string) bundle.Descriptor {
	return bundle.Descriptor{Path: path, DisplayName: "a name", Description: "A description.", XDescriptors: xs}
}

func TestWidgets(t *testing.T) {
	spec := part{"spec", fields(), specWidgets()}
	status := part{"status", fields(), statusWidgets()}
	for _, c := range []struct {
		part          part
		path, x, want string
	}{
		{spec, "count", console + "podCount", ""},
		{spec, "text", console + "podCount", "of type [integer]"},
		{spec, "text", console + "label", "deprecated"},
		{spec, "text", console + "texts", "not supported by the console"},
		{spec, "text", "urn:alm:descriptor:org.w3:link", "not supported by the console"},
		{spec, "group", console + "advanced", ""},
		{spec, "choice", console + "select:A", ""},
		{spec, "choice", console + "select:C", "not one of [A B]"},
		{spec, "choice", console + "select:", "not supported by the console"},
		{spec, "text", kubernetes + "Secret", ""},
		{spec, "group", kubernetes + "Secret", "of type [string]"},
		{spec, "text", kubernetes + "apps:v1:Deployment?matchLabels=a=b", ""},
		{spec, "text", kubernetes + "apps:Deployment", "does not name a kind"},
		{spec, "text", console + "fieldDependency:on:true", ""},
		{spec, "text", console + "fieldDependency:on:yes", "cannot have"},
		{spec, "text", console + "fieldDependency:on", "cannot have"},
		{spec, "text", console + "fieldDependency:off:true", "does not exist"},
		{spec, "text", console + "fieldDependency:choice:B", ""},
		{spec, "text", console + "fieldDependency:choice:C", "not one of [A B]"},
		{spec, "nowhere", console + "text", "no such field"},
		{status, "group", console + "podStatuses", ""},
		{status, "text", console + "podStatuses", "of type [object]"},
		{status, "list", "urn:alm:descriptor:io.kubernetes.conditions", ""},
		{status, "text", "urn:alm:descriptor:io.kubernetes.phase:reason", ""},
		{status, "count", "urn:alm:descriptor:text", ""},
		{status, "count", console + "podCount", "not supported by the console"},
	} {
		got := strings.Join(c.part.check(described(c.path, c.x)), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s on %s.%s: %q, want %q", c.x, c.part.name, c.path, got, c.want)
		}
	}
}

func TestDescriptorsThatSayNothing(t *testing.T) {
	spec := part{"spec", fields(), specWidgets()}
	all := []bundle.Descriptor{described("count"), described("count"), {Path: "on"}, described("text"), described("choice"), described("list")}
	want := []string{"spec.count has two descriptors", "spec.on: it has no name, or no description", "spec.group has no descriptor"}
	if got := spec.problems(all); !slices.Equal(got, want) {
		t.Errorf("the problems are %q, want %q", got, want)
	}
}
