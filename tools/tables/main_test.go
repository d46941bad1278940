package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// TestDocs_nameEveryKind checks that docs/reference/echo.md lists all kinds that an Echo can have.
func TestDocs_nameEveryKind(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/echo.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range objects.Table() {
		if !strings.Contains(string(text), kind.Kind) {
			t.Errorf("docs/reference/echo.md does not describe the purpose of a %s", kind.Kind)
		}
	}
}

// TestEdits_withoutAPlace checks that a table whose place is gone is an error. `make verify` shows that the files are current.
func TestEdits_withoutAPlace(t *testing.T) {
	for name, edit := range edits("../..") {
		if strings.Contains(name, "zz_generated.") || strings.Contains(name, "admission_policy.") { // these files are completely generated
			continue
		}
		if _, err := edit("other"); !errors.Is(err, errNoPlace) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
