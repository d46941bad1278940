package consoleform

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

func TestFields(t *testing.T) {
	spec := parse(t, `{type: object, properties: {
		text: {type: string},
		labels: {type: object, additionalProperties: {type: string}},
		port: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true},
		group: {type: object, properties: {'on': {type: boolean}, map: {type: object}}},
		maps: {type: object, properties: {map: {type: object}}},
		secret: {type: object, properties: {name: {type: string}}},
		resources: {type: object, properties: {limits: {type: object}}},
		words: {type: array, items: {type: string}},
		items: {type: array, items: {type: object, properties: {name: {type: string}}}}}}`)
	descriptors := []Descriptor{described("secret", tectonic+"hidden"), described("resources", tectonic+"resourceRequirements")}
	want := []string{"group", "group.on", "items", "items[0].name", "resources", "text", "words", "words[0]"}
	if got := Fields(spec, descriptors); !slices.Equal(got, want) {
		t.Errorf("the form shows %q, want %q", got, want)
	}
}

func described(path string, xDescriptors ...string) Descriptor {
	return Descriptor{Path: path, XDescriptors: xDescriptors}
}

func TestOnPage(t *testing.T) {
	for path, want := range map[string]bool{"a": true, "a.b": true, "a[0]": true, "a[0].b.c": true, "a[0].b[0]": false, "a[0].b[0].c": false} {
		if OnPage(described(path)) != want || OnPage(described(path, tectonic+"hidden")) {
			t.Errorf("%s is wrong", path)
		}
	}
}

func TestOwned(t *testing.T) {
	object := func(uid string, owners ...string) metav1.Object {
		meta := &metav1.ObjectMeta{UID: types.UID(uid)}
		for _, owner := range owners {
			meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{UID: types.UID(owner)})
		}
		return meta
	}
	objects := map[string][]metav1.Object{
		"CronJob": {object("cron", "echo"), object("other", "another")},
		"Job":     {object("job", "cron"), object("other-job", "other")},
		"Pod":     {object("pod", "job"), object("alone")},
	}
	for _, c := range []struct{ kinds, want []string }{
		{[]string{"CronJob", "Job", "Pod"}, []string{"cron", "job", "pod"}},
		{[]string{"CronJob", "Pod", "Job"}, []string{"cron", "job"}},
		{[]string{"Job", "Pod"}, nil},
	} {
		var got []string
		for _, o := range Owned("echo", c.kinds, objects) {
			got = append(got, string(o.GetUID()))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.kinds, got, c.want)
		}
	}
}

func TestCopied(t *testing.T) {
	const block = "```\nspec:\n  replicas: 2\n```{{copy}}"
	for name, c := range map[string]struct {
		markdown         string
		blocks, commands int
		problem          string
	}{
		"a block":                     {"1. Paste:\n\n" + block + "\n\nThen save.", 1, 0, ""},
		"two blocks":                  {block + "\n\n" + block, 2, 0, ""},
		"a command":                   {"Run `curl -s http://x`{{copy}}.", 0, 1, ""},
		"code without a button":       {"Set `spec` to `x`.", 0, 0, ""},
		"a command after other code":  {"In `a`, run `b`{{copy}}.", 0, 0, "shown as text"},
		"a language":                  {"```yaml\nspec: {}\n```{{copy}}", 0, 0, "shown as text"},
		"no button":                   {"```\nspec: {}\n```", 0, 0, "shown as text"},
		"in a list":                   {"1. Paste:\n   ```\n   spec: {}\n   ```{{copy}}", 0, 0, "shown as text"},
		"in the paragraph of a list":  {"1. Paste:\n" + block, 0, 0, "shown as text"},
		"an indented first line":      {"```\n  spec: {}\n```{{copy}}", 1, 0, "loses the indentation"},
		"an item of a list":           {"```\nenv:\n- name: x\n```{{copy}}", 1, 0, `"- name: x\n" has a meaning`},
		"a deep item of a list":       {"```\nenv:\n    - name: x\n```{{copy}}", 1, 0, ""},
		"a comment":                   {"```\n# x\n```{{copy}}", 1, 0, "has a meaning"},
		"an empty line":               {"```\na: b\n\nc: d\n```{{copy}}", 1, 0, "has a meaning"},
		"emphasis":                    {"```\na: b*c*\n```{{copy}}", 1, 0, "has a meaning"},
		"a document":                  {"```\na: b\n---\n```{{copy}}", 1, 0, "has a meaning"},
		"no block, command or button": {"Click **Create**.", 0, 0, ""},
	} {
		blocks, commands, err := Copied(c.markdown)
		if len(blocks) != c.blocks || len(commands) != c.commands || (err == nil) != (c.problem == "") ||
			err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %q, %v", name, blocks, commands, err)
		}
	}
	if blocks, _, _ := Copied(block); blocks[0] != "spec:\n  replicas: 2\n" {
		t.Errorf("the block is %q", blocks[0])
	}
}
