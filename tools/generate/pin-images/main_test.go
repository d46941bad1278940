package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const digests = "quay.io/a/operator:v1 quay.io/a/operator@sha256:1\nquay.io/a/server:v1 quay.io/a/server@sha256:2\n"
	const before = "quay.io/a/server:v1 quay.io/a/operator:v1 quay.io/a/server:v1 quay.io/b/operator:v1 quay.io/a/operator:v2"
	const pinned = "quay.io/a/server@sha256:2 quay.io/a/operator@sha256:1 quay.io/a/server@sha256:2 quay.io/b/operator:v1 quay.io/a/operator:v2"
	for name, c := range map[string]struct{ digests, after, problem string }{
		"a release":                 {digests, pinned, ""},
		"between releases":          {"", before, ""},
		"an image without a digest": {digests + "quay.io/a/server:v1\n", before, "digests: each line must contain two names"},
	} {
		folder := t.TempDir()
		list, files := filepath.Join(folder, "digests"), []string{filepath.Join(folder, "first"), filepath.Join(folder, "second")}
		for file, content := range map[string]string{list: c.digests, files[0]: before, files[1]: before} {
			if content == "" {
				continue
			}
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(list, files); (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
		for _, file := range files {
			if got, err := os.ReadFile(file); err != nil || string(got) != c.after {
				t.Errorf("%s: %s has %q (%v), want %q", name, filepath.Base(file), got, err, c.after)
			}
		}
	}
}
