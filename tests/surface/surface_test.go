package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck checks that a name whose page does not contain it is an error. `make verify` shows the names that are found.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "page.md"), []byte("`replicas` is a number"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (name{"spec.replicas", "page.md", "`replicas`"}).check(folder); err != nil {
		t.Errorf("a field that is documented: %v", err)
	}
	if err := (name{"spec.image", "page.md", "`image`"}).check(folder); err == nil ||
		!strings.Contains(err.Error(), "spec.image is not documented in page.md") {
		t.Errorf("a field that is not documented: %v", err)
	}
	if err := (name{"EchoNotReady", "missing.md", "EchoNotReady"}).check(folder); err == nil || !strings.Contains(err.Error(), "missing.md") {
		t.Errorf("a page that does not exist: %v", err)
	}
}
