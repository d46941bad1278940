package packaging

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestChanges_nameWhatExists checks that the paths, tests, and identifiers in the tables of changes in CONTRIBUTING.md exist. Each
// identifier must be in a file that the row names before the identifier or directly after it.
func TestChanges_nameWhatExists(t *testing.T) {
	_, section, _ := strings.Cut(text(t, "CONTRIBUTING.md"), "\n## Where do I change?\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tests, rows := testFunctions(t), 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || cells[0] == "| change" {
			continue
		}
		rows++
		checkPlaces(t, cells[0], cells[1])
		for _, name := range quoted(cells[2]) {
			if isTest := strings.HasPrefix(name, "Test"); isTest && !tests[name] || !isTest && !isCommand(name) && pathsAt(name) == nil {
				t.Errorf("%s: %s does not exist", cells[0], name)
			}
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows were found", rows)
	}
}

// checkPlaces checks the places that a row lists for a change.
func checkPlaces(t *testing.T, change, places string) {
	t.Helper()
	names := quoted(places)
	if !slices.ContainsFunc(names, func(name string) bool { return pathsAt(name) != nil }) && !strings.Contains(places, "](#") {
		t.Errorf("%s names no place", change)
	}
	for i, name := range names {
		if isCommand(name) || pathsAt(name) != nil {
			continue
		}
		// The names that follow come first, because the text is usually "`IDENTIFIER` in `FILE`".
		nearest := append(slices.Clone(names[i+1:min(i+3, len(names))]), names[:i]...)
		if looksLikePath := strings.Contains(name, "/") && !strings.HasPrefix(name, "k8s.io/"); looksLikePath || !isInAny(t, name, nearest) {
			t.Errorf("%s: %s is in none of %v", change, name, nearest)
		}
	}
}

// quoted returns the parts of a string that are enclosed in backticks.
func quoted(text string) []string {
	var all []string
	for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// isCommand reports whether a name is a command, or a setting for a command. Another test checks these names.
func isCommand(name string) bool {
	return strings.HasPrefix(name, "make ") || strings.HasPrefix(name, "go ") || name == "UPDATE=1" || name == "kubectl echo"
}

// pathsAt returns the files and directories that match a path in the project. In the path, * and NAME are wildcards for any name. pathsAt
// returns nil if nothing matches.
func pathsAt(name string) []string {
	found, err := fs.Glob(os.DirFS(inProject()), strings.ReplaceAll(strings.TrimSuffix(name, "/"), "NAME", "*"))
	if err != nil || strings.HasPrefix(name, "+") {
		return nil
	}
	return found
}

// isInAny reports whether any of the paths is a file that contains a string, or a directory that directly contains such a file.
func isInAny(t *testing.T, name string, paths []string) bool {
	t.Helper()
	word := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + `(?:\W|$)`)
	for _, each := range paths {
		for _, file := range pathsAt(each) {
			files, _ := fs.Glob(os.DirFS(inProject()), path.Join(file, "*.*"))
			if info, err := os.Stat(inProject(file)); err == nil && !info.IsDir() {
				files = []string{file}
			}
			if slices.ContainsFunc(files, func(file string) bool { return word.MatchString(text(t, file)) }) {
				return true
			}
		}
	}
	return false
}

// testFunctions returns the names of all tests.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	functions := map[string]bool{}
	for _, file := range filesNamed(t, "*_test.go") {
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text(t, file), -1) {
			functions[found[1]] = true
		}
	}
	return functions
}

// TestWarnings_areInTheDocumentation checks that the documentation describes what to do for each condition reason that requires action.
func TestWarnings_areInTheDocumentation(t *testing.T) {
	leaveReady := []string{"GatewayAPIMissing", "RouteNotAccepted", "CheckFailed", "CheckUnknown"} // EchoNotReady does not fire for these reasons
	reasons := regexp.MustCompile(`\tReason\w+ +WarningReason = "(\w+)"`).FindAllStringSubmatch(text(t, "api", "v1", "echo_reasons.go"), -1)
	for _, reason := range reasons {
		if !strings.Contains(text(t, "docs", "reference", "troubleshooting.md"), reason[1]) {
			t.Errorf("docs/reference/troubleshooting.md does not name %s", reason[1])
		}
		inRunbook := strings.Contains(text(t, "docs", "runbooks", "EchoNotReady.md"), reason[1])
		if !inRunbook && !slices.Contains(leaveReady, reason[1]) {
			t.Errorf("docs/runbooks/EchoNotReady.md does not name %s", reason[1])
		}
	}
	if len(reasons) < 10 {
		t.Errorf("only %d reasons were found", len(reasons))
	}
}

// TestOneKubernetesMinorVersion checks that all files name the same Kubernetes minor version as the operator's libraries.
func TestOneKubernetesMinorVersion(t *testing.T) {
	library := regexp.MustCompile(`\tk8s\.io/client-go v0\.(\d+)\.`).FindStringSubmatch(text(t, "go.mod"))
	if library == nil {
		t.Fatal("go.mod has no version of k8s.io/client-go")
	}
	for file, pattern := range map[string]string{
		"tests/packaging/go.mod":            `\tk8s\.io/api v0\.(\d+)\.`,
		"tools/cluster/go.mod":              `\tk8s\.io/kubernetes v1\.(\d+)\.`,
		"tools/docs/config.yaml":            `kubernetesVersion: "1\.(\d+)"`,
		"tests/packaging/preflight_test.go": `"k8s-version": "1\.(\d+)"`,
		"CONTRIBUTING.md":                   `setup-envtest\S* use -p path 1\.(\d+)\.x`,
		"docs/how-to/install.md":            `whole clusters: 1\.(\d+)\.\d+`,
		"CHANGELOG.md":                      `(?s).*the integration tests run on [0-9., ]+ and 1\.(\d+)\.`,
	} {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(text(t, file)); found == nil || found[1] != library[1] {
			t.Errorf("%s has %q, but go.mod has Kubernetes 1.%s", file, found, library[1])
		}
	}
}
