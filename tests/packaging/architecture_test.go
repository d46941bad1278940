package packaging

import (
	"fmt"
	"go/build"
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

// pictured are the packages in the picture in docs/explanation/architecture.md, from top to bottom.
func pictured() []string {
	return []string{".", "internal/operator", "controllers", "internal/telemetry", "internal/echoesapi", "internal/openshift", "internal/status",
		"internal/apply", "internal/objects", "api/v1", "echoserver/server", "echoserver/grpc", "echoserver/describe", "echoserver/controls",
		"echoserver/websocket", "echoserver/exchange", "echoserver/transport", "pathcheck", "pathcheck/internal/probe", "pathcheck/internal/wire"}
}

// TestArchitecture_drawsTheImports compares the picture in docs/explanation/architecture.md with the imports. It omits an import that
// follows from others.
func TestArchitecture_drawsTheImports(t *testing.T) {
	const module = "github.com/echo-operator/echo-operator/"
	reached := map[string][]string{} // all packages that a package imports, also through others
	direct := map[string][]string{}
	for _, folder := range slices.Backward(pictured()) {
		found, err := build.ImportDir(inProject(folder), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range found.Imports {
			if imported = strings.TrimPrefix(imported, module); slices.Contains(pictured(), imported) {
				direct[folder] = append(direct[folder], imported)
				reached[folder] = slices.Concat(reached[folder], []string{imported}, reached[imported])
			}
		}
	}
	var lines []string
	for _, folder := range pictured() {
		shown := slices.DeleteFunc(direct[folder], func(imported string) bool {
			return slices.ContainsFunc(direct[folder], func(other string) bool { return slices.Contains(reached[other], imported) })
		})
		if name := strings.Replace(folder, ".", "main.go", 1); len(shown) > 0 {
			lines = append(lines, fmt.Sprintf("%-25s → %s", name, strings.Join(shown, ", ")))
		}
	}
	const file, head, foot = "docs/explanation/architecture.md", "depguard in `.golangci.yml`).\n\n```text\n", "```\n\nThe echo server and"
	page := text(t, file)
	before, rest, found := strings.Cut(page, head)
	picture, after, closed := strings.Cut(rest, foot)
	if want := strings.Join(lines, "\n") + "\n"; !found || !closed || picture != want {
		if os.Getenv("UPDATE") == "" || !found || !closed {
			t.Fatalf("the picture of packages in %s is not up to date: run this test with UPDATE=1. It should be\n%s", file, want)
		}
		if err := os.WriteFile(inProject(file), []byte(before+head+want+foot+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPackageComments checks that each package comment begins with a sentence about the package's purpose.
func TestPackageComments(t *testing.T) {
	sentences := packageSentences(t)
	for folder, sentence := range sentences {
		if words := len(strings.Fields(sentence)); words < 3 || words > 25 {
			t.Errorf("%s: the first sentence has %d words: %q", folder, words, sentence)
		}
	}
	if len(sentences) < 25 {
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
