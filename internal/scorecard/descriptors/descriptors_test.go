package descriptors

import (
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

func TestProblems_noneInBundle(t *testing.T) {
	b, err := bundle.Read("../../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range Problems(b) {
		t.Error(problem)
	}
}

func TestProblems_reportsMissingCRD(t *testing.T) {
	b, err := bundle.Read("../../../bundle")
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

func TestCheck(t *testing.T) {
	spec := part{"spec", fields(), specWidgets()}
	status := part{"status", fields(), statusWidgets()}
	for _, c := range []struct {
		part          part
		path, x, want string
	}{
		{spec, "count", console + "podCount", ""},
		{spec, "text", console + "podCount", "of type [integer]"},
		{spec, "text", console + "label", "not supported by the console"},
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

func TestPart_reportsMissingAndDuplicateDescriptors(t *testing.T) {
	spec := part{"spec", fields(), specWidgets()}
	all := []bundle.Descriptor{described("count"), described("count"), {Path: "on"}, described("text"), described("choice"), described("list")}
	want := []string{"spec.count has two descriptors", "spec.on: it lacks a display name or a description", "spec.group has no descriptor"}
	if got := spec.problems(all); !slices.Equal(got, want) {
		t.Errorf("the problems are %q, want %q", got, want)
	}
}

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		widgets          []widget
		x, urn, argument string
	}{
		"exact":                        {specWidgets(), console + "text", console + "text", ""},
		"longer name":                  {specWidgets(), console + "textArea", "", ""},
		"shorter name":                 {specWidgets(), console + "tex", "", ""},
		"argument":                     {specWidgets(), console + "select:A", console + "select:", "A"},
		"argument with a colon":        {specWidgets(), console + "fieldDependency:a.b:true", console + "fieldDependency:", "a.b:true"},
		"argument that is missing":     {specWidgets(), console + "select:", "", ""},
		"argument where there is none": {specWidgets(), console + "text:A", "", ""},
		"kind":                         {specWidgets(), kubernetes + "Secret", kubernetes, "Secret"},
		"kind that is missing":         {specWidgets(), kubernetes, "", ""},
		"conditions, not a kind": {statusWidgets(), "urn:alm:descriptor:io.kubernetes.conditions",
			"urn:alm:descriptor:io.kubernetes.conditions", ""},
		"phase, not a kind": {statusWidgets(), "urn:alm:descriptor:io.kubernetes.phase", "urn:alm:descriptor:io.kubernetes.phase", ""},
		"reason of a phase": {statusWidgets(), "urn:alm:descriptor:io.kubernetes.phase:reason", "urn:alm:descriptor:io.kubernetes.phase:reason",
			""},
		"empty":       {specWidgets(), "", "", ""},
		"another urn": {specWidgets(), "urn:example:text", "", ""},
	} {
		w, argument, ok := find(c.widgets, c.x)
		if w.urn != c.urn || argument != c.argument || ok != (c.urn != "") {
			t.Errorf("%s: found %q with %q, %t, want %q with %q", name, w.urn, argument, ok, c.urn, c.argument)
		}
	}
}

func TestWidget_checksArguments(t *testing.T) {
	numbers := bundle.Schema{Type: "integer", Enum: []any{float64(1)}}
	neighbours := bundle.Schema{Properties: map[string]bundle.Schema{
		"deep":  {Type: "object", Properties: map[string]bundle.Schema{"on": {Type: "boolean"}}},
		"free":  {Type: "string"},
		"count": {Type: "integer"},
	}}
	for name, c := range map[string]struct{ got, want string }{
		"value of a free field":         {checkValue(neighbours, bundle.Schema{Type: "string"}, "anything"), ""},
		"value of another type":         {checkValue(neighbours, numbers, "1"), "has a value that is not one of [1]"},
		"kind":                          {checkKind(neighbours, numbers, "Secret"), ""},
		"kind of a group":               {checkKind(neighbours, numbers, "apps:v1:Deployment"), ""},
		"kind of the core group":        {checkKind(neighbours, numbers, "core:v1:Pod?a=b:c"), ""},
		"group and version only":        {checkKind(neighbours, numbers, "apps:v1"), "does not name a kind"},
		"group and version and a colon": {checkKind(neighbours, numbers, "apps:v1:"), "does not name a kind"},
		"too many parts":                {checkKind(neighbours, numbers, "a:b:c:D"), "does not name a kind"},
		"switch in a group":             {checkDependency(neighbours, numbers, "deep.on:false"), ""},
		"switch with another value": {checkDependency(neighbours, numbers, "deep.on:False"),
			"depends on a value that the field cannot have"},
		"switch of a field, not a group": {checkDependency(neighbours, numbers, "free.on:true"), "depends on a field that does not exist"},
		"free text":                      {checkDependency(neighbours, numbers, "free:text"), ""},
		"no value":                       {checkDependency(neighbours, numbers, "free:"), "depends on a value that the field cannot have"},
		"a number":                       {checkDependency(neighbours, numbers, "count:1"), "depends on a value that the field cannot have"},
		"a group":                        {checkDependency(neighbours, numbers, "deep:true"), "depends on a value that the field cannot have"},
		"no field":                       {checkDependency(neighbours, numbers, ":true"), "depends on a field that does not exist"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

func TestLayout(t *testing.T) {
	item := bundle.Schema{Properties: map[string]bundle.Schema{"name": {Type: "string"}, "value": {Type: "string"}}}
	schema := bundle.Schema{Properties: map[string]bundle.Schema{
		"group":  {Type: "object", Properties: map[string]bundle.Schema{"a": {Type: "string"}, "list": {Type: "array", Items: &item}}},
		"policy": {Type: "string", Enum: []any{"Always", "IfNotPresent", "Never"}},
		"text":   {Type: "string"},
	}}
	for name, c := range map[string]struct {
		all  []bundle.Descriptor
		want []string
	}{
		"in order": {all: []bundle.Descriptor{described("text"), described("group"), described("group.list"), described("group.list[0].name"),
			described("group.list[0].value"), described("group.a"), described("policy")}},
		"a field without its group": {all: []bundle.Descriptor{described("group.a")},
			want: []string{
				"spec.group.a: it does not follow the descriptor of the field that contains it: the console shows fields in the order of the descriptors"}},
		"a field apart from its group": {all: []bundle.Descriptor{described("group"), described("text"), described("group.a")},
			want: []string{
				"spec.group.a: it does not follow the descriptor of the field that contains it: the console shows fields in the order of the descriptors"}},
		"an item apart from its list": {all: []bundle.Descriptor{described("group"), described("group.list"), described("group.a"),
			described("group.list[0].name")},
			want: []string{
				"spec.group.list[0].name: it does not follow the descriptor of the field that contains it: the console shows fields in the order of the descriptors"}},
		"a list without items": {all: []bundle.Descriptor{described("group"), described("group.list")},
			want: []string{"spec.group.list: its items have no descriptors: the console does not show them on the page of an object"}},
		"a hidden list": {all: []bundle.Descriptor{described("group"), described("group.list", console+"hidden")}},
		"the name of a Go field": {all: []bundle.Descriptor{{Path: "text", DisplayName: "Text", Description: "text is a text."}},
			want: []string{"spec.text: its description does not begin with a capital letter"}},
		"all values": {
			all: []bundle.Descriptor{described("policy", console+"select:Always", console+"select:IfNotPresent", console+"select:Never")}},
		"a value is missing": {all: []bundle.Descriptor{described("policy", console+"select:Always", console+"select:Never")},
			want: []string{"spec.policy: its widget cannot set [IfNotPresent]"}},
		"the widget of the console": {all: []bundle.Descriptor{described("policy", console+"imagePullPolicy")},
			want: []string{"spec.policy: its widget cannot set [Never]"}},
	} {
		if got := (part{"spec", schema, specWidgets()}).layout(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
