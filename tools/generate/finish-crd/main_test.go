package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// before has a field with a Kubernetes type, and after is the result.
const (
	before = `spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          metadata:
            type: object
          spec:
            properties:
              env:
                description: env is ours.
                items:
                  properties:
                    description:
                      default: a
                      description: This text changes with Kubernetes.
                      type: string
                    name:
                      type: string
                    valueFrom:
                      properties:
                        name:
                          type: string
                      type: object
                  type: object
                type: array
`
	texts = `env.description: description is text.
name: name is a name.
env.valueFrom: valueFrom is the source.
valueFrom.name: name is the name of the source.
`
	after = `spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          metadata:
            type: object
            properties:
              name:
                type: string
          spec:
            properties:
              env:
                description: env is ours.
                items:
                  properties:
                    description:
                      description: description is text.
                      type: string
                    name:
                      description: name is a name.
                      type: string
                    valueFrom:
                      description: valueFrom is the source.
                      properties:
                        name:
                          description: name is the name of the source.
                          type: string
                      type: object
                  type: object
                type: array
`
)

// finished runs the program, and returns the file's content afterward.
func finished(t *testing.T, content, texts string, fields ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := run(file, texts, fields)
	result, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(result), failure
}

// TestRun_replacesDescriptions checks that a field gets the description with the longest key that matches its path.
func TestRun_replacesDescriptions(t *testing.T) {
	if got, err := finished(t, before, texts, "spec.env"); err != nil || got != after {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, after)
	}
}

// TestRun_failures checks that mistakes in the arguments and in the descriptions are errors, and leave the file unchanged.
func TestRun_failures(t *testing.T) {
	for name, c := range map[string]struct{ content, texts, field, want string }{
		"no versions":             {"spec: {}\n", texts, "spec.env", "crd.yaml has no spec.versions"},
		"unknown field":           {before, texts, "spec.other", "has no field spec.other"},
		"field of no field":       {before, texts, "spec.env.name", "has no field spec.env.name"},
		"unknown field to remove": {before, texts, "-spec.env[].b", "has no field spec.env[].b"},
		"no YAML":                 {"a: [\n", texts, "spec.env", "yaml"},
		"no descriptions":         {before, "a: [\n", "spec.env", "yaml"},
		"a new field": {strings.Replace(before, "valueFrom:", "newFrom:", 1), texts, "spec.env",
			"descriptions.yaml has no description of spec.env.newFrom"},
	} {
		if got, err := finished(t, c.content, c.texts, c.field); err == nil || !strings.Contains(err.Error(), c.want) || got != c.content {
			t.Errorf("%s: %v, want %q; the file contains\n%s", name, err, c.want, got)
		}
	}
}
