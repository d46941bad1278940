package packaging

import (
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
		watched := anyHas(t, filesAt(t, "controllers/*/watches.go"), `Watches\(&`+resource.Version+`\.`+resource.Kind+`\{}`)
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
