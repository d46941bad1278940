package packaging

import (
	"fmt"
	"go/build"
	"os"
	"slices"
	"strings"
	"testing"
)

// pictured are the packages in the picture in docs/explanation/architecture.md, from top to bottom.
func pictured() []string {
	return []string{".", "internal/operator", "controllers", "internal/telemetry", "internal/echoesapi", "internal/openshift", "internal/status",
		"internal/apply", "internal/objects", "api/v1", "echoserver/server", "echoserver/grpc", "echoserver/describe", "echoserver/controls",
		"echoserver/websocket", "echoserver/exchange", "echoserver/transport", "pathcheck", "pathcheck/internal/probe", "pathcheck/internal/wire"}
}

// TestArchitecture_drawsTheImports compares the picture in docs/explanation/architecture.md with the imports. It omits implied imports.
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
