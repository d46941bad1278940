package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun_failures checks that mistakes in the arguments are errors, and leave the file unchanged. `make verify` shows every other change.
func TestRun_failures(t *testing.T) {
	const crd = "spec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n          spec:\n            properties:\n" +
		"              env:\n                type: array\n"
	for name, c := range map[string]struct{ content, field, want string }{
		"no versions":             {"spec: {}\n", "spec.env", "crd.yaml has no spec.versions"},
		"unknown field":           {crd, "spec.other", "has no field spec.other"},
		"field of no field":       {crd, "spec.env.name", "has no field spec.env.name"},
		"unknown field to remove": {crd, "-spec.env[].b", "has no field spec.env[].b"},
		"no YAML":                 {"a: [\n", "spec.env", "yaml"},
	} {
		file := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(file, []string{"spec", c.field}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != c.content {
			t.Errorf("%s: the file became\n%s(%v)", name, after, err)
		}
	}
}
