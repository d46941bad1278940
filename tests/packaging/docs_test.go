package packaging

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents returns the content of the documentation pages, by file name.
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

// TestDocumentedPathsExist checks that a documented path exists if it begins with one of the project's directories. It ignores paths that
// contain a pattern or a placeholder. A path that exists only in a release may be missing.
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

// TestDocumentedTargetsExist checks every `make TARGET` command in the documentation.
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

// TestNamedTestsExist checks that the tests in docs/explanation/security.md exist. It finds functions by name, and specs by file and text.
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

// TestTestedVersions checks that the documentation states the tested versions. The tools are built from these versions.
func TestTestedVersions(t *testing.T) {
	newest := pinned(t, "cluster", "k8s.io/kubernetes")
	servers := []string{newest}
	for _, folder := range foldersOf(t, "go.mod") {
		name, isOlder := strings.CutPrefix(folder, "/tools/kubernetes-")
		if !isOlder {
			continue
		}
		servers = append(servers, pinned(t, "kubernetes-"+name, "k8s.io/kubernetes"))
		if nightly := read[workflow](t, ".github", "workflows", "nightly.yml").Jobs["kubernetes"]; !slices.Contains(
			nightly.Strategy.Matrix.Target, "test-"+name) {
			t.Errorf("the nightly workflow does not run 'make test-%s'", name)
		}
	}
	slices.Sort(servers)
	oldest := servers[0][:strings.LastIndex(servers[0], ".")]
	page := text(t, "docs/how-to/install.md")
	for _, row := range []string{
		"| Kubernetes | " + oldest + " and later | API server: " + strings.Join(servers, ", ") + "; whole clusters: " + newest + " |",
		"| OLM | all versions that serve `operators.coreos.com/v1alpha1` | " +
			pinned(t, "cluster", "github.com/operator-framework/operator-lifecycle-manager") + " |",
		"| OLM v1 | 1.0 and later | " + pinned(t, "olmv1", "github.com/operator-framework/operator-controller") + " |",
		"| Helm 3 | 3.17 and later | " + pinned(t, "helm", "helm.sh/helm/v3") + " |",
		"| Helm 4 | 4.0 and later | " + pinned(t, "helm4", "helm.sh/helm/v4") + " |",
	} {
		if !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("docs/how-to/install.md lacks the row\n%s", row)
		}
	}
}

// pinned returns the version to which a set of tools pins a module.
func pinned(t *testing.T, set, module string) string {
	t.Helper()
	version := regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(
		text(t, "tools", set, "go.mod"))
	if version == nil {
		t.Fatalf("the tools %s do not pin %s", set, module)
	}
	return version[1]
}
