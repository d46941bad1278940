package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/objects"
)

const root = "../.."

// TestEdits_filesAreCurrent checks that the generated files are current. Tests in other packages that read these files rely on this check.
func TestEdits_filesAreCurrent(t *testing.T) {
	for name, edit := range edits(root) {
		before := read(t, name)
		if after, err := edit(before); err != nil || after != before {
			t.Errorf("%s does not match the tables: run `make generate manifests` (%v)", name, err)
		}
	}
}

// TestDocs_nameEveryKind checks that docs/reference/echo.md lists all kinds that an Echo can have.
func TestDocs_nameEveryKind(t *testing.T) {
	text := read(t, "docs/reference/echo.md")
	for _, kind := range objects.Table() {
		if !strings.Contains(text, kind.Kind) {
			t.Errorf("docs/reference/echo.md does not describe the purpose of a %s", kind.Kind)
		}
	}
}

func TestWithResources(t *testing.T) {
	kinds := []objects.Kind{
		{Version: "v1", Kind: "Service"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: "example.org", Version: "v1", Kind: "Route", Optional: true},
	}
	got, err := withResources(`// +a:b="Echo",resources={{Service,v1,""},{Event,v1,""}}`, kinds)
	if want := `// +a:b="Echo",resources={{Service,v1,""},{Job,v1,"jobs.batch"},{Event,v1,""}}`; got != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestEdits_withoutAPlace(t *testing.T) {
	for name, edit := range edits(root) {
		if strings.Contains(name, "zz_generated.") { // these files are completely generated
			continue
		}
		if _, err := edit("other"); !errors.Is(err, errNoPlace) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKnownGroups(t *testing.T) {
	if got := knownGroups([]string{"two", "one"}); !strings.HasSuffix(got, "\treturn []string{\"one\", \"two\"}\n}\n") {
		t.Errorf("got %s", got)
	}
}

func TestWithChoices(t *testing.T) {
	const name = "config/manifests/list_item_descriptors.yaml"
	const item = "  - urn:alm:descriptor:com.tectonic.ui:select:"
	const want = "  x-descriptors:\n" + item + "one\n" + item + "two\n- path:"
	if got, err := withChoices(read(t, name), []string{"one", "two"}); !strings.Contains(got, want) || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestWriteFiles_missingFiles(t *testing.T) {
	if err := writeFiles(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the files: %v", err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
