package descriptors

import (
	"slices"
	"testing"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

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
			want: []string{"spec.group.a: it does not follow the fields that it belongs to: the console shows fields in the order of the descriptors"}},
		"a field apart from its group": {all: []bundle.Descriptor{described("group"), described("text"), described("group.a")},
			want: []string{"spec.group.a: it does not follow the fields that it belongs to: the console shows fields in the order of the descriptors"}},
		"an item apart from its list": {all: []bundle.Descriptor{described("group"), described("group.list"), described("group.a"), described("group.list[0].name")},
			want: []string{"spec.group.list[0].name: it does not follow the fields that it belongs to: the console shows fields in the order of the descriptors"}},
		"a list without items": {all: []bundle.Descriptor{described("group"), described("group.list")},
			want: []string{"spec.group.list: its items have no descriptors: the console does not show them on the page of an object"}},
		"a hidden list": {all: []bundle.Descriptor{described("group"), described("group.list", console+"hidden")}},
		"the name of a Go field": {all: []bundle.Descriptor{{Path: "text", DisplayName: "Text", Description: "text is a text."}},
			want: []string{"spec.text: its description does not begin with a capital letter"}},
		"all values": {all: []bundle.Descriptor{described("policy", console+"select:Always", console+"select:IfNotPresent", console+"select:Never")}},
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
