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

func TestPosted(t *testing.T) {
	schema := parse(t, `{properties: {
		port: {type: integer, default: 80},
		service: {type: object, default: {}, properties: {type: {type: string, default: ClusterIP}}},
		ingress: {type: object, properties: {host: {type: string}}},
		env: {type: array, items: {properties: {name: {type: string}, valueFrom: {properties: {file: {properties: {optional: {type: boolean, default: false}}}}}}}}}}`)
	for name, c := range map[string]struct{ data, sample, want string }{
		"defaults":      {"{}", "{}", "{port: 80, service: {type: ClusterIP}}"},
		"a value stays": {"{port: 81, service: {type: NodePort}}", "{}", "{port: 81, service: {type: NodePort}}"},
		"defaults in an item": {"{env: [{name: a}]}", "{}",
			"{port: 80, service: {type: ClusterIP}, env: [{name: a, valueFrom: {file: {optional: false}}}]}"},
		"what is empty": {`{ingress: {host: ""}, env: []}`, "{}", "{port: 80, service: {type: ClusterIP}}"},
		"empty as in the sample": {`{ingress: {host: ""}}`, `{ingress: {host: ""}}`,
			`{port: 80, service: {type: ClusterIP}, ingress: {host: ""}}`},
		"what the schema has not": {"{other: 0}", "{}", "{port: 80, service: {type: ClusterIP}, other: 0}"},
	} {
		data := parse(t, c.data)
		if diff := cmp.Diff(parse(t, c.want), Posted(schema, data, parse(t, c.sample))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(parse(t, c.data), data); diff != "" {
			t.Errorf("%s: the data changed: %s", name, diff)
		}
	}
}
