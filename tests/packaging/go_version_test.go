package packaging

import (
	goversion "go/version"
	"regexp"
	"testing"
)

// TestTheRequiredGoVersionIsDocumented checks that the documentation names the newest Go version that a module requires.
func TestTheRequiredGoVersionIsDocumented(t *testing.T) {
	required := ""
	for _, folder := range moduleFolders(t) {
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
			t.Errorf("%s says %q, but the modules require Go %s", file, found, required)
		}
	}
}

// TestWorkflowsUseTheGoVersionOfTheDockerfiles checks that workflows build the same programs as the Dockerfiles.
func TestWorkflowsUseTheGoVersionOfTheDockerfiles(t *testing.T) {
	for file := range dockerfiles(t) {
		for _, found := range regexp.MustCompile(`golang:(\S+)`).FindAllStringSubmatch(text(t, file), -1) {
			for _, used := range regexp.MustCompile(`go-version: (\S+)`).FindAllStringSubmatch(text(t, ".github", "workflows", "ci.yml"), -1) {
				if used[1] != found[1] {
					t.Errorf("%s has Go %s, but ci.yml has %s", file, found[1], used[1])
				}
			}
		}
	}
	if regexp.MustCompile(`go-version-file`).MatchString(text(t, ".github", "workflows", "ci.yml")) {
		t.Error("ci.yml takes the Go version from a file")
	}
}
