package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// crd returns a CustomResourceDefinition with the given spec properties, which must be indented by two spaces.
func crd(properties string) string {
	head := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  versions:\n"
	version := "  - name: v1\n    schema:\n      openAPIV3Schema:\n        description: the kind\n        properties:\n" +
		"          spec:\n            description: the spec\n            properties:\n"
	return head + version + strings.ReplaceAll("\n"+strings.TrimSuffix(properties, "\n"), "\n  ", "\n              ")[1:] + "\n"
}

// stripped runs the program on a file and returns the file's new content.
func stripped(t *testing.T, content string, fields ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := run(file, fields)
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(after), failed
}

func TestStrip(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"its own description stays": {"  env:\n    description: kept\n    type: array\n", "  env:\n    description: kept\n    type: array\n"},
		"of items": {"  env:\n    description: kept\n    items:\n      description: gone\n      type: object\n",
			"  env:\n    description: kept\n    items:\n      type: object\n"},
		"of properties": {"  env:\n    properties:\n      name:\n        description: gone\n        type: string\n",
			"  env:\n    properties:\n      name:\n        type: string\n"},
		"of values of a map": {"  env:\n    additionalProperties:\n      description: gone\n      type: string\n",
			"  env:\n    additionalProperties:\n      type: string\n"},
		"deep below": {
			"  env:\n    items:\n      properties:\n        a:\n          items:\n            additionalProperties:\n              description: " +
				"gone\n              type: string\n",
			"  env:\n    items:\n      properties:\n        a:\n          items:\n            additionalProperties:\n              type: string\n"},
		"in a list of schemas": {"  env:\n    items:\n      anyOf:\n      - description: gone\n        type: string\n      - type: integer\n",
			"  env:\n    items:\n      anyOf:\n      - type: string\n      - type: integer\n"},
		"a default": {
			"  env:\n    items:\n      properties:\n        name:\n          default: \"\"\n          type: string\n        default:\n          " +
				"type: string\n",
			"  env:\n    items:\n      properties:\n        name:\n          type: string\n        default:\n          type: string\n"},
		"its own default stays": {"  env:\n    default: []\n    type: array\n", "  env:\n    default: []\n    type: array\n"},
		"a field of that name stays": {"  env:\n    properties:\n      description:\n        description: gone\n        type: string\n",
			"  env:\n    properties:\n      description:\n        type: string\n"},
		"fields of that name at every level stay": {
			"  env:\n    items:\n      properties:\n        description:\n          properties:\n            description:\n              " +
				"type: string\n",
			"  env:\n    items:\n      properties:\n        description:\n          properties:\n            description:\n              " +
				"type: string\n"},
		"a field that is called properties": {"  env:\n    properties:\n      properties:\n        description: gone\n        type: string\n",
			"  env:\n    properties:\n      properties:\n        type: string\n"},
		"of a quantity, with a pattern": {"  env:\n    items:\n      pattern: generated\n      x-kubernetes-int-or-string: true\n",
			"  env:\n    items:\n      pattern: " + quantity + "\n      x-kubernetes-int-or-string: true\n"},
		"of a number of 32 bits, with bounds": {"  env:\n    items:\n      format: int32\n      type: integer\n",
			"  env:\n    items:\n      format: int32\n      type: integer\n      maximum: 2147483647\n      minimum: -2147483648\n"},
		"other fields stay as they are": {"  env:\n    type: array\n  other:\n    items:\n      description: kept\n",
			"  env:\n    type: array\n  other:\n    items:\n      description: kept\n"},
	} {
		got, err := stripped(t, crd(c.before), "spec.env")
		if err != nil || got != crd(c.after) {
			t.Errorf("%s: %v, got\n%s, want\n%s", name, err, got, crd(c.after))
		}
	}
}

func TestTheNameIsInTheSchema(t *testing.T) {
	const metadata, name = "          metadata:\n            type: object\n", "            properties:\n              name:\n               " +
		" type: string\n"
	content := func(metadata string) string {
		return strings.Replace(crd("  env:\n    type: array\n"), "          spec:\n", metadata+"          spec:\n", 1)
	}
	if got, err := stripped(t, content(metadata), "spec.env"); err != nil || got != content(metadata+name) {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestStripSeveralFields(t *testing.T) {
	const before = "  a:\n    items:\n      description: gone\n      type: string\n  b:\n    properties:\n      c:\n        items:\n        " +
		"  description: gone\n          type: string\n" +
		"      d:\n        items:\n          description: kept\n"
	const after = "  a:\n    items:\n      type: string\n  b:\n    properties:\n      c:\n        items:\n          type: string\n      " +
		"d:\n        items:\n          description: kept\n"
	if got, err := stripped(t, crd(before), "spec.a", "spec.b.c"); err != nil || got != crd(after) {
		t.Errorf("%v, got\n%s, want\n%s", err, got, crd(after))
	}
}

func TestEveryVersionIsStripped(t *testing.T) {
	const field = "  env:\n    items:\n      description: gone\n      type: string\n"
	second := func(content string) string {
		_, version, _ := strings.Cut(content, "  versions:\n")
		return content + strings.Replace(version, "name: v1", "name: v2", 1)
	}
	want := second(crd(strings.Replace(field, "      description: gone\n", "", 1)))
	if got, err := stripped(t, second(crd(field)), "spec.env"); err != nil || got != want {
		t.Errorf("%v, got\n%s, want\n%s", err, got, want)
	}
}

func TestRemove(t *testing.T) {
	const before = "  env:\n    items:\n      properties:\n        a:\n          type: string\n        b:\n          type: string\n"
	const after = "  env:\n    items:\n      properties:\n        a:\n          type: string\n"
	if got, err := stripped(t, crd(before), "-spec.env[].b"); err != nil || got != crd(after) {
		t.Errorf("%v, got\n%s, want\n%s", err, got, crd(after))
	}
}

func TestStripFails(t *testing.T) {
	for name, c := range map[string]struct{ content, field, want string }{
		"no versions":             {"spec: {}\n", "spec.env", "crd.yaml has no spec.versions"},
		"unknown field":           {crd("  env:\n    type: array\n"), "spec.other", "has no field spec.other"},
		"field of no field":       {crd("  env:\n    type: array\n"), "spec.env.name", "has no field spec.env.name"},
		"unknown field to remove": {crd("  env:\n    type: array\n"), "-spec.env[].b", "has no field spec.env[].b"},
		"no YAML":                 {"a: [\n", "spec.env", "yaml"},
	} {
		if got, err := stripped(t, c.content, "spec", c.field); err == nil || !strings.Contains(err.Error(), c.want) || got != c.content {
			t.Errorf("%s: %v, want %q; the file has\n%s", name, err, c.want, got)
		}
	}
	if err := run("absent.yaml", []string{"spec"}); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("without a file: %v", err)
	}
}
