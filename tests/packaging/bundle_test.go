// Package packaging holds what is shipped to what it was made from: bundle and catalog to config and API.
package packaging

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// csv is as much of a ClusterServiceVersion as is looked at here.
type csv struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
		Labels      map[string]string
	}
	Spec struct {
		Version                   string
		MinKubeVersion            string
		Icon                      []struct{ Base64Data, Mediatype string }
		RelatedImages             []struct{ Image string }
		InstallModes              []struct{ Supported bool }
		Customresourcedefinitions struct{ Owned []owned }
		Install                   struct {
			Spec struct {
				Deployments                     []struct{ Spec appsv1.DeploymentSpec }
				Permissions, ClusterPermissions []struct{ Rules []rbacv1.PolicyRule }
			}
		}
	}
}

type owned struct {
	Name                               string
	SpecDescriptors, StatusDescriptors []descriptor
}

type descriptor struct {
	Path, DisplayName, Description string
	XDescriptors                   []string `json:"x-descriptors"`
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func read[T any](t *testing.T, path ...string) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal([]byte(text(t, path...)), &value); err != nil {
		t.Fatalf("%s: %v", filepath.Join(path...), err)
	}
	return value
}

func bundleCSV(t *testing.T) csv {
	t.Helper()
	return read[csv](t, "bundle", "manifests", "echo-operator.clusterserviceversion.yaml")
}

func version(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(text(t, "VERSION"))
}

func TestOneVersionEverywhere(t *testing.T) {
	v, bundle := version(t), bundleCSV(t)
	if bundle.Spec.Version != v || bundle.Metadata.Name != "echo-operator.v"+v {
		t.Errorf("the bundle is %s, version %s, and VERSION says %s", bundle.Metadata.Name, bundle.Spec.Version, v)
	}
	images := regexp.MustCompile(`quay\.io/echo-operator/[a-z-]+:v[0-9.]+[0-9]`)
	for _, file := range []string{"config/manager/manager.yaml", "bundle/manifests/echo-operator.clusterserviceversion.yaml", "docs/install.md",
		"catalog/echo-operator/v" + v + ".yaml"} {
		found := images.FindAllString(text(t, file), -1)
		if len(found) == 0 {
			t.Errorf("%s names no image", file)
		}
		for _, image := range found {
			if !strings.HasSuffix(image, ":v"+v) {
				t.Errorf("%s has %s, and VERSION says %s", file, image, v)
			}
		}
	}
	if !strings.Contains(text(t, "catalog/echo-operator/channels.yaml"), "name: echo-operator.v"+v+"\n") {
		t.Errorf("no channel of the catalog has version %s", v)
	}
}

func TestTheBundleHasTheCRDOfConfig(t *testing.T) {
	type crd struct{ Spec map[string]any }
	want, got := read[crd](t, "config", "crd", "bases", "example.com_echoes.yaml"), read[crd](t, "bundle", "manifests", "example.com_echoes.yaml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheBundleHasTheRulesOfConfig(t *testing.T) {
	spec := bundleCSV(t).Spec.Install.Spec
	rules := func(file string) []rbacv1.PolicyRule {
		return read[rbacv1.ClusterRole](t, "config", "rbac", file).Rules
	}
	namespaced := slices.Concat(rules("leader_election_role.yaml"), rules("role.yaml"))
	if len(spec.Permissions) != 1 || !reflect.DeepEqual(spec.Permissions[0].Rules, namespaced) {
		t.Errorf("the namespaced rules are %+v, want those of the leader election and of the manager", spec.Permissions)
	}
	if len(spec.ClusterPermissions) != 1 || !reflect.DeepEqual(spec.ClusterPermissions[0].Rules, rules("metrics_auth_role.yaml")) {
		t.Errorf("the rules for the cluster are %+v, want those of the metrics", spec.ClusterPermissions)
	}
	for _, rule := range slices.Concat(spec.Permissions[0].Rules, spec.ClusterPermissions[0].Rules) {
		if slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") || slices.Contains(rule.Resources, "secrets") {
			t.Errorf("the rule %+v gives too much", rule)
		}
	}
}

func TestEveryImageIsListedForMirrors(t *testing.T) {
	bundle := bundleCSV(t)
	var listed []string
	for _, related := range bundle.Spec.RelatedImages {
		listed = append(listed, related.Image)
	}
	container := bundle.Spec.Install.Spec.Deployments[0].Spec.Template.Spec.Containers[0]
	needed := []string{container.Image, bundle.Metadata.Annotations["containerImage"]}
	for _, variable := range container.Env {
		if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
			needed = append(needed, variable.Value)
		}
	}
	for _, image := range needed {
		if !slices.Contains(listed, image) {
			t.Errorf("%s is not among the related images %v", image, listed)
		}
	}
}

func TestWhatHubsAskFor(t *testing.T) {
	bundle := bundleCSV(t)
	for _, feature := range []string{"cnf", "cni", "csi", "disconnected", "fips-compliant", "proxy-aware", "tls-profiles",
		"token-auth-aws", "token-auth-azure", "token-auth-gcp"} {
		if value := bundle.Metadata.Annotations["features.operators.openshift.io/"+feature]; value != "true" && value != "false" {
			t.Errorf("the feature %s is %q", feature, value)
		}
	}
	if len(bundle.Spec.Icon) != 1 || bundle.Spec.Icon[0].Base64Data == "" || bundle.Spec.Icon[0].Mediatype != "image/svg+xml" {
		t.Errorf("the icon is %+v", bundle.Spec.Icon)
	}
	if len(bundle.Spec.InstallModes) != 4 || slices.ContainsFunc(bundle.Spec.InstallModes, func(m struct{ Supported bool }) bool { return !m.Supported }) {
		t.Errorf("the install modes are %+v", bundle.Spec.InstallModes)
	}
	if bundle.Spec.MinKubeVersion != "1.30.0" {
		t.Errorf("the oldest Kubernetes is %q", bundle.Spec.MinKubeVersion)
	}
	const label = "com.redhat.openshift.versions"
	annotations := read[struct{ Annotations map[string]string }](t, "bundle", "metadata", "annotations.yaml").Annotations
	if annotations[label] != "v4.17" || !strings.Contains(text(t, "bundle.Dockerfile"), "LABEL "+label+"=v4.17\n") {
		t.Errorf("annotations.yaml has OpenShift %q, which bundle.Dockerfile must have too", annotations[label])
	}
}
