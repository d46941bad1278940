package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestChanges(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing": {`{spec: {replicas: 1}}`, `{spec: {replicas: 1}}`, nil},
		"only the books": {
			`{metadata: {resourceVersion: "1", managedFields: [{manager: a}], annotations: {kubectl.kubernetes.io/last-applied-configuration: a, x: y}}}`,
			`{metadata: {resourceVersion: "2", managedFields: [{manager: b}], annotations: {kubectl.kubernetes.io/last-applied-configuration: b, x: y}}}`, nil,
		},
		"a number, and the generation with it": {
			`{metadata: {generation: 1}, spec: {replicas: 1}}`, `{metadata: {generation: 2}, spec: {replicas: 2}}`,
			[]string{`metadata.generation: 1 -> 2`, `spec.replicas: 1 -> 2`},
		},
		"a field that comes and one that goes, by the alphabet": {
			`{spec: {b: 1, keep: true}}`, `{spec: {a: true, keep: true}}`, []string{`spec.a: (none) -> true`, `spec.b: 1 -> (none)`},
		},
		"a status where none was": {
			`{}`, `{status: {phase: Pending, pods: {ready: [a, b]}, conditions: [{type: Ready, status: "False"}]}}`,
			[]string{`status.conditions[Ready].status: (none) -> "False"`, `status.conditions[Ready].type: (none) -> "Ready"`,
				`status.phase: (none) -> "Pending"`, `status.pods.ready: (none) -> ["a","b"]`},
		},
		"an empty object": {`{spec: {}}`, `{spec: {emptyDir: {}}}`, []string{`spec.emptyDir: (none) -> {}`}},
		"an empty list":   {`{spec: {}}`, `{spec: {args: []}}`, []string{`spec.args: (none) -> []`}},
		"a condition, though another came before it": {
			`{status: {conditions: [{type: Ready, status: "False"}]}}`, `{status: {conditions: [{type: New, status: "True"}, {type: Ready, status: "True"}]}}`,
			[]string{`status.conditions[Ready].status: "False" -> "True"`, `status.conditions[New].status: (none) -> "True"`, `status.conditions[New].type: (none) -> "New"`},
		},
		"an element that went": {
			`{ports: [{name: http, port: 80}, {name: metrics, port: 90}]}`, `{ports: [{name: metrics, port: 90}]}`,
			[]string{`ports[http].name: "http" -> (none)`, `ports[http].port: 80 -> (none)`},
		},
		"another order": {`{ports: [{name: a}, {name: b}]}`, `{ports: [{name: b}, {name: a}]}`, nil},
		"names that are not the elements' own": {
			`{mounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}`, `{mounts: [{name: v, mountPath: /b, readOnly: true}, {name: v, mountPath: /a}]}`,
			[]string{`mounts[/b].readOnly: (none) -> true`},
		},
		"elements without a key, by their place": {
			`{rules: [{x: 1}, {x: 2}]}`, `{rules: [{x: 1}, {x: 3}, {z: 4}]}`, []string{`rules[1].x: 2 -> 3`, `rules[2].z: (none) -> 4`},
		},
		"a list of words, as a whole":         {`{args: [a, b]}`, `{args: [a, c]}`, []string{`args: ["a","b"] -> ["a","c"]`}},
		"another kind of value":               {`{a: {b: 1}}`, `{a: [x]}`, []string{`a: {"b":1} -> ["x"]`}},
		"a name with dots":                    {`{labels: {app: a, x.io/y: a}}`, `{labels: {app: b, x.io/y: b}}`, []string{`labels.app: "a" -> "b"`, `labels[x.io/y]: "a" -> "b"`}},
		"what would do something to terminal": {`{a: {"\u001b[2J": x}}`, `{a: {"\u001b[2J": "\u001b<\n"}}`, []string{`a["\x1b[2J"]: "x" -> "\u001b<\n"`}},
		"environments": {
			`{spec: {env: [{name: A, value: secret-1}, {name: C, valueFrom: {fieldRef: {fieldPath: a}}}], containers: [{name: c, env: [{name: A, value: secret-1}]}]}}`,
			`{spec: {env: [{name: A, value: secret-2}, {name: B, value: secret-3}, {name: C, valueFrom: {fieldRef: {fieldPath: b}}}], containers: [{name: c, env: [{name: A, value: secret-2}]}]}}`,
			[]string{`spec.containers[c].env[A].value: (hidden) -> (hidden)`, `spec.env[A].value: (hidden) -> (hidden)`,
				`spec.env[C].valueFrom.fieldRef.fieldPath: "a" -> "b"`, `spec.env[B].name: (none) -> "B"`, `spec.env[B].value: (none) -> (hidden)`},
		},
		"an environment with a variable twice": {
			`{env: [{name: A, value: secret-1}, {name: A, value: secret-2}]}`, `{env: [{name: A, value: secret-1}, {name: A, value: secret-3}]}`,
			[]string{`env[1].value: (hidden) -> (hidden)`},
		},
		"an environment inside of what is shown as a whole": {
			`{a: {env: [{name: A, value: secret-1}]}}`, `{a: x}`, []string{`a: {"env":[{"name":"A","value":"(hidden)"}]} -> "x"`},
		},
		"an environment that became something else": {
			`{env: [{name: A, value: secret-1}]}`, `{env: x}`, []string{`env: [{"name":"A","value":"(hidden)"}] -> "x"`},
		},
		"a value that is no variable's": {`{headers: [{name: A, value: v}]}`, `{headers: [{name: A, value: w}]}`, []string{`headers[A].value: "v" -> "w"`}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, c.before), object(t, c.after)
			var got []string
			for _, c := range changes(before, after) {
				got = append(got, list([]change{c}))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(object(t, c.before), before); diff != "" {
				t.Error("the object itself was changed:", diff)
			}
		})
	}
}

// object reads an object as a client does: whole numbers are int64.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return integers(o).(map[string]any)
}

func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = integers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		return int64(v)
	}
	return value
}
