package packaging

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// projectFile is the content of the PROJECT file, which lists the project's APIs for operator-sdk.
type projectFile struct {
	Domain, ProjectName, Repo, Version string
	Layout                             []string
	Plugins                            map[string]any
	Resources                          []projectResource
}

type projectResource struct {
	API struct {
		CRDVersion string
		Namespaced bool
	}
	Controller                         bool
	Domain, Group, Kind, Path, Version string
}

func TestProject_namesTheProject(t *testing.T) {
	project := read[projectFile](t, "PROJECT")
	module := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(text(t, "go.mod"))
	if module == nil || project.Repo != module[1] {
		t.Errorf("the repo is %s, but the module is %v", project.Repo, module)
	}
	annotations := read[struct{ Annotations map[string]string }](t, "bundle/metadata/annotations.yaml").Annotations
	if name := annotations["operators.operatorframework.io.bundle.package.v1"]; project.ProjectName != name {
		t.Errorf("the name is %s, but the bundle's package is %s", project.ProjectName, name)
	}
	if layout := annotations["operators.operatorframework.io.metrics.project_layout"]; !slices.Equal(project.Layout, []string{layout}) {
		t.Errorf("the layout is %v, but the bundle has %s", project.Layout, layout)
	}
	for plugin, folder := range map[string]string{"manifests": "config/manifests", "scorecard": "config/scorecard"} {
		_, err := os.Stat(inProject(folder, "kustomization.yaml"))
		if _, found := project.Plugins[plugin+".sdk.operatorframework.io/v2"]; !found || err != nil || len(project.Plugins) != 2 {
			t.Errorf("the plugins are %v, and %s: %v", project.Plugins, folder, err)
		}
	}
}

// TestProject_namesTheAPIs checks that the listed resources match the CustomResourceDefinitions, and that their types and reconcilers
// exist.
func TestProject_namesTheAPIs(t *testing.T) {
	project := read[projectFile](t, "PROJECT")
	described := map[string]projectResource{}
	for _, resource := range project.Resources {
		group := strings.TrimPrefix(resource.Group+"."+resource.Domain, ".")
		described[group+" "+resource.Kind] = resource
		types := filesAt(t, path.Join(strings.TrimPrefix(resource.Path, project.Repo+"/"), "*.go"))
		if !anyHas(t, types, `(?m)^type `+resource.Kind+` struct`) || !anyHas(t, types, `(?m)^// \+groupName=`+regexp.QuoteMeta(group)+`$`) {
			t.Errorf("%s has no type %s of the group %s", resource.Path, resource.Kind, group)
		}
		watched := anyHas(t, filesAt(t, "controllers/*.go"), `Watches\(&`+resource.Version+`\.`+resource.Kind+`\{}`)
		if watched != resource.Controller {
			t.Errorf("controller is %[2]t for %[1]s, but %[3]t in the code", resource.Kind, resource.Controller, watched)
		}
	}
	definitions := filesAt(t, "config/crd/bases/*.yaml")
	for _, file := range definitions {
		crd := read[apiextensionsv1.CustomResourceDefinition](t, file)
		resource := described[crd.Spec.Group+" "+crd.Spec.Names.Kind]
		isNamespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
		isOfAPI := "apiextensions.k8s.io/"+resource.API.CRDVersion == crd.APIVersion
		if resource.Version != crd.Spec.Versions[0].Name || resource.API.Namespaced != isNamespaced || !isOfAPI {
			t.Errorf("PROJECT has %+v for %s", resource, file)
		}
	}
	if len(described) != len(definitions) || len(project.Resources) != len(definitions) {
		t.Errorf("PROJECT has %d resources, but there are %v", len(project.Resources), definitions)
	}
}

// anyHas reports whether any of the files matches a pattern.
func anyHas(t *testing.T, files []string, pattern string) bool {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	return slices.ContainsFunc(files, func(file string) bool { return expression.MatchString(text(t, file)) })
}

// TestDocumentedNames_exist checks that documentation pages mention only metrics and settings that exist. docs/reference/surface.md lists
// the names that the source files define.
func TestDocumentedNames_exist(t *testing.T) {
	surface, checked := text(t, "docs/reference/surface.md"), 0
	name := regexp.MustCompile("`(echo_[a-z_]+|ECHO_[A-Z_]+)(?:=[^`]*|\\{[^`]*)?`")
	part := regexp.MustCompile("_(bucket|sum|count)$") // the suffixes of histogram metrics
	notNames := []string{"echo_namespace", "ECHO_INFO_"}
	for file, content := range documents(t) {
		// These two pages mention names that were removed or that belong to other projects.
		if file == "CHANGELOG.md" || file == "docs/how-to/coming-from-another-echo-server.md" {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(content, -1) {
			checked++
			if !slices.Contains(notNames, found[1]) && !strings.Contains(surface, "`"+part.ReplaceAllString(found[1], "")+"`") {
				t.Errorf("%s names %s, which does not exist", file, found[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d names were found", checked)
	}
}

// TestDocumentedControllers checks that docs/reference/metrics.md lists all values of the controller label.
func TestDocumentedControllers(t *testing.T) {
	names := map[string]bool{}
	for _, file := range filesNamed(t, "*.go") {
		if strings.HasPrefix(file, "controllers/") {
			for _, found := range regexp.MustCompile(`\bNamed\("([a-z]+)"\)`).FindAllStringSubmatch(text(t, file), -1) {
				names[found[1]] = true
			}
		}
	}
	_, list, _ := strings.Cut(text(t, "docs/reference/metrics.md"), "reconciles by `controller`: ")
	list, _, _ = strings.Cut(list, ";")
	if got, want := slices.Sorted(strings.SplitSeq(list, ", ")), slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
		t.Errorf("docs/reference/metrics.md has the controllers %v, want %v", got, want)
	}
}

// TestEveryPackageWithALockIsRaced checks that `make race` runs the tests of every shipped package that synchronizes goroutines.
func TestEveryPackageWithALockIsRaced(t *testing.T) {
	raced := strings.Fields(strings.Replace(setting(t, "raced"), "$(covered)", setting(t, "covered"), 1))
	locks := regexp.MustCompile(`(?m)^(?:import )?\s*"sync(?:/atomic)?"$`)
	var found []string
	for _, file := range filesNamed(t, "*.go") {
		folder := path.Dir(file)
		isShipped := !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "tests/") && !strings.HasPrefix(file, "tools/")
		if !isShipped || slices.Contains(found, folder) || !locks.MatchString(text(t, file)) {
			continue
		}
		found = append(found, folder)
		if !slices.ContainsFunc(raced, func(pattern string) bool {
			below, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
			return folder == below || all && strings.HasPrefix(folder, below+"/")
		}) {
			t.Errorf("%s has a lock, but make race does not run its tests: make race runs %s", folder, raced)
		}
	}
	if len(found) < 10 {
		t.Errorf("only the packages %v have a lock", found)
	}
}

// setting returns a setting in the Makefile for tests.
func setting(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindStringSubmatch(text(t, "tools", "make", "tests.mk"))
	if found == nil {
		t.Fatalf("tools/make/tests.mk has no setting %s", name)
	}
	return found[1]
}
