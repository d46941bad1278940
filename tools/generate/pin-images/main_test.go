package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file and returns the file's path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestPin(t *testing.T) {
	const digests = "quay.io/a/operator:v1 quay.io/a/operator@sha256:1\nquay.io/a/server:v1 quay.io/a/server@sha256:2\n"
	for name, c := range map[string]struct{ digests, before, after string }{
		"an image":             {digests, "image: quay.io/a/operator:v1\n", "image: quay.io/a/operator@sha256:1\n"},
		"every occurrence":     {digests, "quay.io/a/server:v1, quay.io/a/server:v1", "quay.io/a/server@sha256:2, quay.io/a/server@sha256:2"},
		"several images":       {digests, "quay.io/a/server:v1 quay.io/a/operator:v1", "quay.io/a/server@sha256:2 quay.io/a/operator@sha256:1"},
		"another image":        {digests, "image: quay.io/b/operator:v1", "image: quay.io/b/operator:v1"},
		"another tag":          {digests, "image: quay.io/a/operator:v2", "image: quay.io/a/operator:v2"},
		"pinned already":       {digests, "image: quay.io/a/operator@sha256:1", "image: quay.io/a/operator@sha256:1"},
		"no digests":           {"\n", "image: quay.io/a/operator:v1", "image: quay.io/a/operator:v1"},
		"no newline at an end": {strings.TrimSpace(digests), "quay.io/a/server:v1", "quay.io/a/server@sha256:2"},
		"an empty file":        {digests, "", ""},
	} {
		first, second := write(t, "first.yaml", c.before), write(t, "second.yaml", c.before)
		if err := run(write(t, "digests", c.digests), []string{first, second}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range []string{first, second} {
			if got := contentOf(t, file); got != c.after {
				t.Errorf("%s: %s has %q, want %q", name, filepath.Base(file), got, c.after)
			}
		}
	}
}

// TestBetweenReleases checks that image tags stay unchanged if there are no digests.
func TestBetweenReleases(t *testing.T) {
	file := write(t, "csv.yaml", "quay.io/a/operator:v1")
	if err := run(filepath.Join(t.TempDir(), "absent"), []string{file, "absent"}); err != nil ||
		contentOf(t, file) != "quay.io/a/operator:v1" {
		t.Errorf("the file has %q, %v", contentOf(t, file), err)
	}
}

func TestPinFails(t *testing.T) {
	file := write(t, "csv.yaml", "quay.io/a/operator:v1")
	const digests = "quay.io/a/operator:v1 quay.io/a/operator@sha256:1\n"
	for name, c := range map[string]struct {
		digests string
		files   []string
		want    string
	}{
		"an image without a digest": {write(t, "digests", digests+"quay.io/a/server:v1\n"), []string{file},
			"digests: each line must contain two names"},
		"digests in a directory": {t.TempDir(), []string{file}, "is a directory"},
		"a missing file":         {write(t, "digests", digests), []string{"absent.yaml", file}, "absent.yaml"},
	} {
		if err := run(c.digests, c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got := contentOf(t, file); got != "quay.io/a/operator:v1" {
			t.Errorf("%s: the file became %q", name, got)
		}
	}
}
