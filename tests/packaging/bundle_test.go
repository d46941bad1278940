// Package packaging tests that the bundle, catalog, and images match config/ and the API, and follow the rules of catalogs and hubs.
package packaging

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// inProject returns the path of a file in the project.
func inProject(path ...string) string {
	return filepath.Join(append([]string{"..", ".."}, path...)...)
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	return content(t, inProject(path...))
}

func content(t *testing.T, file string) string {
	t.Helper()
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(read)
}

func read[T any](t *testing.T, path ...string) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal([]byte(text(t, path...)), &value); err != nil {
		t.Fatalf("%s: %v", filepath.Join(path...), err)
	}
	return value
}

func loadBundle(t *testing.T) *manifests.Bundle {
	t.Helper()
	bundle, err := manifests.GetBundleFromDir(inProject("bundle"))
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func bundleCSV(t *testing.T) *v1alpha1.ClusterServiceVersion {
	t.Helper()
	return loadBundle(t).CSV
}

func version(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(text(t, "VERSION"))
}

func created(t *testing.T) string {
	t.Helper()
	return bundleCSV(t).Annotations["createdAt"]
}

// TestCreated_isADay checks that the time in createdAt is midnight. All artifacts of a release have this timestamp. If the changelog lists
// the version, it must contain the same date.
func TestCreated_isADay(t *testing.T) {
	day, found := strings.CutSuffix(created(t), "T00:00:00Z")
	if _, err := time.Parse(time.DateOnly, day); err != nil || !found {
		t.Errorf("createdAt is %s, which is not midnight", created(t))
	}
	heading := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version(t)) + `\b.*$`).FindString(text(t, "CHANGELOG.md"))
	if heading != "" && !strings.Contains(heading, day) {
		t.Errorf("createdAt is %s, but the changelog has %q", created(t), heading)
	}
}

func TestOneVersionEverywhere(t *testing.T) {
	v, csv := version(t), bundleCSV(t)
	if csv.Spec.Version.String() != v || csv.Name != "echo-operator.v"+v {
		t.Errorf("the bundle is %s with version %s, but VERSION contains %s", csv.Name, csv.Spec.Version, v)
	}
	pinned := pinnedImages(t)
	for _, file := range []string{"config/manager/manager.yaml", "config/scorecard/config.yaml"} {
		for _, image := range ownImages(t, file) {
			if !strings.HasSuffix(image, ":v"+v) {
				t.Errorf("%s has %s, but VERSION contains %s", file, image, v)
			}
		}
	}
	for _, file := range []string{"bundle/manifests/echo-operator.clusterserviceversion.yaml", "bundle/tests/scorecard/config.yaml",
		"catalog/echo-operator/v" + v + ".yaml"} {
		for _, image := range ownImages(t, file) {
			if !slices.Contains(pinned, image) && (len(pinned) > 0 || !strings.HasSuffix(image, ":v"+v)) {
				t.Errorf("%s has %s, but VERSION contains %s, and config/manifests/digests %v", file, image, v, pinned)
			}
		}
	}
	if !strings.Contains(text(t, "catalog/echo-operator/channels.yaml"), "name: echo-operator.v"+v+"\n") {
		t.Errorf("no channel in the catalog has version %s", v)
	}
}

// ownImages returns the project's own images that a file references.
func ownImages(t *testing.T, file string) []string {
	t.Helper()
	found := regexp.MustCompile(`quay\.io/echo-operator/[a-z-]+(:v[0-9.]+[0-9]|@sha256:[0-9a-f]{64})`).FindAllString(text(t, file), -1)
	if len(found) == 0 {
		t.Errorf("%s contains no image", file)
	}
	return found
}

// pinnedImages returns the images of a release, with their digests. Between releases, no images are pinned.
func pinnedImages(t *testing.T) []string {
	t.Helper()
	pairs, err := os.ReadFile("../../config/manifests/digests")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var pinned []string
	for line := range strings.Lines(string(pairs)) {
		pinned = append(pinned, strings.Fields(line)[1])
	}
	return pinned
}

// TestEveryReleaseHasItsCRD checks that the CRDs of all releases exist, because TestUpgradeFromEveryRelease requires them.
func TestEveryReleaseHasItsCRD(t *testing.T) {
	for _, catalog := range filesAt(t, "catalog/echo-operator/v*.yaml") {
		released := strings.TrimSuffix(filepath.Base(catalog), ".yaml")
		if released == "v"+version(t) && len(pinnedImages(t)) == 0 {
			continue // not released yet
		}
		if _, err := os.Stat("released/echoes." + released + ".yaml"); err != nil {
			t.Error(err)
		}
	}
}

func TestTheBundleHasTheCRDOfConfig(t *testing.T) {
	type crd struct{ Spec map[string]any }
	want, got := read[crd](t, "config", "crd", "bases", "example.com_echoes.yaml"), read[crd](t, "bundle", "manifests",
		"example.com_echoes.yaml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheBundleHasTheRulesOfConfig(t *testing.T) {
	spec := bundleCSV(t).Spec.InstallStrategy.StrategySpec
	rules := func(file string) []rbacv1.PolicyRule {
		return read[rbacv1.ClusterRole](t, "config", "rbac", file).Rules
	}
	namespaced := slices.Concat(rules("leader_election_role.yaml"), rules("role.yaml"), rules("monitoring_role.yaml"))
	if len(spec.Permissions) != 1 || !reflect.DeepEqual(spec.Permissions[0].Rules, namespaced) {
		t.Fatalf("the namespaced rules are %+v, want the rules for leader election, for monitoring and for the manager", spec.Permissions)
	}
	forTheCluster := slices.Concat(rules("gateway_reader_role.yaml"), rules("node_reader_role.yaml"), rules("openshift_role.yaml"))
	if len(spec.ClusterPermissions) != 1 || !reflect.DeepEqual(spec.ClusterPermissions[0].Rules, forTheCluster) {
		t.Fatalf("the rules for the cluster are %+v, want the rules for nodes, gateways and OpenShift", spec.ClusterPermissions)
	}
	for _, rule := range slices.Concat(spec.Permissions[0].Rules, spec.ClusterPermissions[0].Rules) {
		granted := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)
		if slices.Contains(granted, "*") || slices.Contains(granted, "secrets") || len(rule.NonResourceURLs) > 0 {
			t.Errorf("the rule %+v grants too much", rule)
		}
	}
}

// TestOneOfTwoReplicasMayBeMissing checks that the Deployment remains Available while one of its two pods is missing, as OLM requires, and
// that a node drain can evict a pod.
func TestOneOfTwoReplicasMayBeMissing(t *testing.T) {
	deployment := bundleCSV(t).Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec
	one := new(intstr.FromInt32(1))
	if *deployment.Replicas != 2 || !reflect.DeepEqual(deployment.Strategy.RollingUpdate.MaxUnavailable, one) {
		t.Errorf("there are %d replicas, and the strategy is %+v", *deployment.Replicas, deployment.Strategy.RollingUpdate)
	}
	budget := read[policyv1.PodDisruptionBudget](t, "bundle", "manifests",
		"echo-operator-controller-manager_policy_v1_poddisruptionbudget.yaml").Spec
	if !reflect.DeepEqual(budget.MaxUnavailable, one) || !reflect.DeepEqual(budget.Selector, deployment.Selector) {
		t.Errorf("the budget is %+v, and the selector of the Deployment is %v", budget, deployment.Selector)
	}
}

func TestEveryInstallModeIsSupported(t *testing.T) {
	modes := bundleCSV(t).Spec.InstallModes
	if len(modes) != 4 || slices.ContainsFunc(modes, func(mode v1alpha1.InstallMode) bool { return !mode.Supported }) {
		t.Errorf("the install modes are %+v", modes)
	}
}

// TestTheOldestKubernetes checks that the bundle requires the oldest tested Kubernetes version, and the first OpenShift version that
// includes it. The community pipeline rejects a bundle that specifies only one of these versions, or an older OpenShift version.
func TestTheOldestKubernetes(t *testing.T) {
	const label = "com.redhat.openshift.versions"
	openshift := read[struct{ Annotations map[string]string }](t, "bundle", "metadata", "annotations.yaml").Annotations[label]
	if !strings.Contains(text(t, "bundle.Dockerfile"), "LABEL "+label+"="+openshift+"\n") {
		t.Errorf("annotations.yaml has OpenShift %q, but bundle.Dockerfile does not", openshift)
	}
	var minor int
	if _, err := fmt.Sscanf(openshift, "v4.%d", &minor); err != nil {
		t.Fatalf("OpenShift %q: %v", openshift, err)
	}
	kubernetes := fmt.Sprintf("1.%d.", minor+13) // OpenShift 4.17 includes Kubernetes 1.30, OpenShift 4.18 includes 1.31, and so on
	if got := bundleCSV(t).Spec.MinKubeVersion; got != kubernetes+"0" {
		t.Errorf("the oldest Kubernetes version is %q, but OpenShift %s contains %sx", got, openshift, kubernetes)
	}
	if !strings.Contains(text(t, "tools", "kubernetes-oldest", "go.mod"), "k8s.io/kubernetes v"+kubernetes) {
		t.Errorf("the oldest tested Kubernetes version is not %sx", kubernetes)
	}
}
