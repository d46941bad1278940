package packaging

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents returns the documentation, by file.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md"}
	for _, folder := range []string{"docs", "docs/*", "tests/*"} {
		files = append(files, filesAt(t, folder+"/*.md")...)
	}
	all := map[string]string{}
	for _, file := range files {
		all[file] = text(t, file)
	}
	return all
}

// TestDocumentedPathsExist checks the documented paths that begin with one of the project's folders. It does not check paths with a pattern
// or a placeholder. Paths that only a release has may be absent.
func TestDocumentedPathsExist(t *testing.T) {
	path := regexp.MustCompile(
		"`((?:api|bundle|catalog|cmd|config|controllers|docs|echoserver|internal|pathcheck|tests|tools|\\.github)/[\\w./-]*)`")
	ofReleases := []string{"config/manifests/digests", "tests/packaging/released"}
	checked := 0
	for file, content := range documents(t) {
		for _, found := range path.FindAllStringSubmatch(content, -1) {
			checked++
			if pathsAt(found[1]) == nil && !slices.Contains(ofReleases, strings.TrimSuffix(found[1], "/echoes.vVERSION.yaml")) {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d paths were found", checked)
	}
}

// TestDocumentedTargetsExist checks every `make TARGET` in the documentation.
func TestDocumentedTargetsExist(t *testing.T) {
	targets := makeTargets(t)
	for file, content := range documents(t) {
		for _, found := range regexp.MustCompile("(?m)(?:`|^ *)make (?:-s )?([a-z][a-z0-9-]*)").FindAllStringSubmatch(content, -1) {
			if !slices.Contains(targets, found[1]) {
				t.Errorf("%s names the target %s, which does not exist", file, found[1])
			}
		}
	}
}

// TestNamedTestsExist checks the tests that docs/explanation/security.md names: functions by name, and specs by their file and text.
func TestNamedTestsExist(t *testing.T) {
	page, functions := text(t, "docs/explanation/security.md"), testFunctions(t)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1)
	for _, found := range named {
		if !functions[found[1]] {
			t.Errorf("%s does not exist", found[1])
		}
	}
	specs := regexp.MustCompile("`([\\w/]+_test\\.go)` \"([^\"]+)\"").FindAllStringSubmatch(page, -1)
	for _, found := range specs {
		if !strings.Contains(text(t, found[1]), `"`+found[2]) {
			t.Errorf("%s has no spec %q", found[1], found[2])
		}
	}
	if len(named) < 10 || len(specs) < 5 {
		t.Errorf("only %d functions and %d specs were found", len(named), len(specs))
	}
}

// TestTestedVersions: the documentation states which versions the operator was tested with: those that the tools are built from.
func TestTestedVersions(t *testing.T) {
	page := text(t, "docs/how-to/install.md")
	for name, pin := range map[string]struct{ module, path string }{
		"| Kubernetes |":      {"tools/cluster/go.mod", "k8s.io/kubernetes"},
		"| Kubernetes | 1.30": {"tools/kubernetes-oldest/go.mod", "k8s.io/kubernetes"},
		"| OLM |":             {"tools/cluster/go.mod", "github.com/operator-framework/operator-lifecycle-manager"},
		"| Helm 3 |":          {"tools/helm/go.mod", "helm.sh/helm/v3"},
		"| Helm 4 |":          {"tools/helm4/go.mod", "helm.sh/helm/v4"},
		"| OLM v1 |":          {"tools/olmv1/go.mod", "github.com/operator-framework/operator-controller"},
	} {
		version := regexp.MustCompile(regexp.QuoteMeta(pin.path) + ` v([0-9.]+)`).FindStringSubmatch(text(t, pin.module))
		line := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(name) + ".*$").FindString(page)
		if version == nil || !strings.Contains(line, version[1]) {
			t.Errorf("%s uses %s %v, but docs/how-to/install.md says: %s", pin.module, pin.path, version, line)
		}
	}
}
