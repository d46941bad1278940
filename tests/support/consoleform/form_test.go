package consoleform

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPosted_defaults(t *testing.T) {
	schema := parse(t, `{properties: {
		port: {type: integer, default: 80},
		service: {type: object, default: {}, properties: {type: {type: string, default: ClusterIP}}},
		ingress: {type: object, properties: {host: {type: string}}},
		hosts: {type: array, minItems: 1, items: {type: string}},
		rules: {type: array, minItems: 2, items: {type: object, default: {a: 1}}},
		env: {type: array, items: {properties: {name: {type: string}, from: {properties: {optional: {type: boolean, default: false}}}}}}}}`)
	const defaults = "port: 80, service: {type: ClusterIP}, rules: [{a: 1}, {a: 1}]"
	for name, c := range map[string]struct{ data, want string }{
		"nothing": {"{}", "{" + defaults + "}"},
		"a value stays": {"{port: 81, service: {type: NodePort}, rules: [{a: 2}]}",
			"{port: 81, service: {type: NodePort}, rules: [{a: 2}]}"},
		"in an item":        {"{env: [{name: a}]}", "{" + defaults + ", env: [{name: a, from: {optional: false}}]}"},
		"empty values":      {`{ingress: {host: ""}, env: []}`, "{" + defaults + "}"},
		"not in the schema": {"{other: 0}", "{" + defaults + ", other: 0}"},
	} {
		data := parse(t, c.data)
		if diff := cmp.Diff(parse(t, c.want), Posted(schema, data, nil)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(parse(t, c.data), data); diff != "" {
			t.Errorf("%s: the data changed: %s", name, diff)
		}
	}
}

func TestPosted_empty(t *testing.T) {
	for name, c := range map[string]struct{ data, sample, want string }{
		"empty values":                {`{a: "", b: {}, c: [], d: null, e: {f: [{g: ""}]}}`, "{}", "{}"},
		"values that are not empty":   {"{a: false, b: 0, c: ' '}", "{}", "{a: false, b: 0, c: ' '}"},
		"items of a list":             {`{a: ["", x, {}, {b: ""}, 0]}`, "{}", "{a: [x, 0]}"},
		"empty in the sample":         {`{a: "", b: {}, c: {d: ""}}`, `{a: "", b: {}, c: {d: {}}}`, `{a: "", b: {}, c: {d: ""}}`},
		"not empty in the sample":     {`{a: "", b: {}}`, "{a: x, b: {c: 1}}", "{}"},
		"a number in the sample":      {`{a: "", b: ""}`, "{a: 2, b: false}", `{a: "", b: ""}`},
		"an item in the sample":       {`{a: ["", ""]}`, `{a: [""]}`, `{a: [""]}`},
		"a group with an empty field": {`{a: {b: ""}}`, `{a: {b: ""}}`, `{a: {b: ""}}`},
		"another type in a sample":    {`{a: {b: ""}, c: [""]}`, `{a: [], c: {d: 1}}`, `{a: {}}`},
	} {
		if diff := cmp.Diff(parse(t, c.want), Posted(nil, parse(t, c.data), parse(t, c.sample))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
