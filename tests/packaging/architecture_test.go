package packaging

import (
	"fmt"
	"go/build"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageSentences returns the first sentence of the package comment of each shipped, handwritten package, without the words "Package
// NAME".
func packageSentences(t *testing.T) map[string]string {
	t.Helper()
	sentences := map[string]string{}
	for _, file := range filesNamed(t, "*.go") {
		folder := path.Dir(file)
		shipped := regexp.MustCompile(`^(api|controllers|echoserver|internal|pathcheck)(/|$)`).MatchString(folder)
		if _, known := sentences[folder]; known || !shipped {
			continue
		}
		found, err := build.ImportDir(inProject(folder), build.ImportComment)
		switch {
		case err != nil:
			t.Errorf("%s: %v", folder, err)
		case isGenerated(t, folder, found):
		default:
			sentences[folder] = strings.TrimSuffix(strings.TrimPrefix(found.Doc, "Package "+found.Name+" "), ".")
		}
	}
	return sentences
}

// isGenerated reports whether all files of a package are generated.
func isGenerated(t *testing.T, folder string, of *build.Package) bool {
	t.Helper()
	return !slices.ContainsFunc(of.GoFiles, func(file string) bool { return !strings.Contains(text(t, folder, file), "\n// Code generated ") })
}

// TestArchitecture_listsThePackages compares the table in docs/explanation/architecture.md with the package comments.
func TestArchitecture_listsThePackages(t *testing.T) {
	var rows []string
	sentences := packageSentences(t)
	for _, folder := range slices.Sorted(maps.Keys(sentences)) {
		if !strings.HasSuffix(folder, "test") { // the table omits packages for tests
			purpose, _, _ := strings.Cut(sentences[folder], ":")
			rows = append(rows, fmt.Sprintf("| `%s` | %s |", folder, purpose))
		}
	}
	const file, head = "docs/explanation/architecture.md", "| package | purpose |\n|---|---|\n"
	page := text(t, file)
	before, table, found := strings.Cut(page, head)
	if want := strings.Join(rows, "\n") + "\n"; !found || table != want {
		if os.Getenv("UPDATE") == "" || !found {
			t.Fatalf("the table of packages in %s is not up to date: run this test with UPDATE=1. It should be\n%s", file, want)
		}
		if err := os.WriteFile(inProject(file), []byte(before+head+want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPackageComments checks that each package comment begins with a sentence about the package's purpose. A comment in doc.go must not
// name files, because no test could verify that a list of files is complete.
func TestPackageComments(t *testing.T) {
	sentences := packageSentences(t)
	for folder, sentence := range sentences {
		if words := len(strings.Fields(sentence)); words < 3 || words > 25 {
			t.Errorf("%s: the first sentence has %d words: %q", folder, words, sentence)
		}
	}
	for _, file := range filesNamed(t, "doc.go") {
		comment, _, _ := strings.Cut(text(t, file), "\npackage ")
		if name := regexp.MustCompile(`\b\w+\.go\b`).FindString(comment); name != "" {
			t.Errorf("%s names the file %s", file, name)
		}
	}
	if len(sentences) < 30 {
		t.Errorf("only %d packages were found", len(sentences))
	}
}

// TestComments_beginWithTheName finds comments that still begin with the old name after a function or type was renamed.
func TestComments_beginWithTheName(t *testing.T) {
	declaration := regexp.MustCompile(`(?m)(?:^|\n\n)// (?:(?:A|An|The) )?(\w+)[^\n]*\n(?://[^\n]*\n)*(?:func (?:\([^)\n]*\) )?|type )(\w+)`)
	checked := 0
	for _, file := range filesNamed(t, "*.go") {
		content := text(t, file)
		if strings.HasSuffix(file, "_test.go") || strings.Contains(content, "\n// Code generated ") {
			continue
		}
		for _, found := range declaration.FindAllStringSubmatch(content, -1) {
			checked++
			if found[1] != found[2] {
				t.Errorf("%s: the comment of %s begins with %s", file, found[2], found[1])
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d comments were found", checked)
	}
}
