package packaging

import (
	goversion "go/version"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheRequiredGoVersionIsDocumented checks that the documentation names the newest Go version that any module with project code
// requires. Other modules only pin programs from other projects, and make downloads the Go versions that these programs require.
func TestTheRequiredGoVersionIsDocumented(t *testing.T) {
	required, code := "", filesNamed(t, "*.go")
	for _, folder := range foldersOf(t, "go.mod") {
		inside := func(file string) bool {
			return strings.HasPrefix(path.Join("/", file), strings.TrimSuffix(folder, "/")+"/")
		}
		if !slices.ContainsFunc(code, inside) {
			continue
		}
		found := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(text(t, folder, "go.mod"))
		if found == nil {
			t.Fatalf("%s/go.mod has no Go version", folder)
		}
		if goversion.Compare("go"+found[1], "go"+required) > 0 || required == "" {
			required = found[1]
		}
	}
	for _, file := range []string{"README.md", "CONTRIBUTING.md"} {
		found := regexp.MustCompile(`Go (1\.\d+\.\d+) or later`).FindStringSubmatch(text(t, file))
		if found == nil || found[1] != required {
			t.Errorf("%s contains %q, but the modules require Go %s", file, found, required)
		}
	}
}

// TestEverythingIsBuiltWithOneVersionOfGo checks that make, CI, the workflows, the Dockerfiles, and the toolchain lines of all modules
// specify the same Go version.
func TestEverythingIsBuiltWithOneVersionOfGo(t *testing.T) {
	want := regexp.MustCompile(`(?m)^toolchain go(\d+\.\d+\.\d+)$`).FindStringSubmatch(text(t, "go.mod"))
	if want == nil {
		t.Fatal("go.mod has no toolchain line with an exact version")
	}
	patterns := map[string]string{
		"Makefile": `(?m)^export GOTOOLCHAIN := go(\S+)$`,
		".ci/run":  `(?m)^export GOTOOLCHAIN=go(\S+)`,
	}
	for _, folder := range foldersOf(t, "go.mod") {
		patterns[path.Join(folder, "go.mod")] = `(?m)^toolchain go(\S+)$`
	}
	for file := range dockerfiles(t) {
		patterns[file] = `golang:(\S+)`
	}
	for _, file := range filesAt(t, workflows) {
		patterns[file] = `go-version: (\S+)`
	}
	for file, pattern := range patterns {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(text(t, file), -1)
		if len(found) == 0 && !strings.HasSuffix(file, "Dockerfile") { // some Dockerfiles build nothing
			t.Errorf("%s names no Go version", file)
		}
		for _, each := range found {
			if each[1] != want[1] {
				t.Errorf("%s has Go %s, but go.mod has %s", file, each[1], want[1])
			}
		}
	}
}
