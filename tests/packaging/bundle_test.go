// Package packaging tests that the bundle, catalog, and images match config/ and the API, and follow the rules of catalogs and hubs.
package packaging

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// created returns the date of the version, which tools/make/bundle copies to the bundle.
func created(t *testing.T) string {
	t.Helper()
	base := read[struct {
		Metadata struct{ Annotations map[string]string }
	}](t, "config/manifests/bases/echo-operator.clusterserviceversion.yaml")
	return base.Metadata.Annotations["createdAt"]
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

// TestOneVersionEverywhere checks the files that no generator writes. `make verify` checks the bundle and the catalog.
func TestOneVersionEverywhere(t *testing.T) {
	v := version(t)
	for _, file := range []string{"config/manager/manager.yaml", "config/scorecard/config.yaml", "charts/echo-operator/values.yaml",
		"charts/echo-operator/Chart.yaml"} {
		for _, image := range ownImages(t, file) {
			if !strings.HasSuffix(image, ":v"+v) {
				t.Errorf("%s has %s, but VERSION contains %s", file, image, v)
			}
		}
	}
	described := slices.Compact(slices.Sorted(slices.Values(ownImages(t, "charts/echo-operator/Chart.yaml"))))
	if used := ownImages(t, "config/manager/manager.yaml"); len(described) != len(slices.Compact(slices.Sorted(slices.Values(used)))) {
		t.Errorf("Chart.yaml has the images %v, but the operator uses %v", described, used)
	}
	if metadata := loadChart(t).Metadata; metadata.Version != v || metadata.AppVersion != v {
		t.Errorf("the chart has the versions %s and %s, but VERSION contains %s", metadata.Version, metadata.AppVersion, v)
	}
	if want := "ARG VERSION=" + v + "\n"; !strings.Contains(text(t, "Dockerfile"), want) {
		t.Errorf("Dockerfile does not have %q", want)
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

// TestEveryReleaseHasItsCRD checks that the CRDs of all releases exist, because TestUpgradeFromEveryRelease requires them.
func TestEveryReleaseHasItsCRD(t *testing.T) {
	for _, catalog := range filesAt(t, "catalog/echo-operator/v*.yaml") {
		released := strings.TrimSuffix(filepath.Base(catalog), ".yaml")
		if _, err := os.Stat("../../config/manifests/digests"); released == "v"+version(t) && err != nil {
			continue // not released yet
		}
		if _, err := os.Stat("released/echoes." + released + ".yaml"); err != nil {
			t.Error(err)
		}
	}
}

func TestRules_grantNoSecrets(t *testing.T) {
	spec := bundleCSV(t).Spec.InstallStrategy.StrategySpec
	for _, permissions := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		for _, rule := range permissions.Rules {
			granted := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)
			if slices.Contains(granted, "*") || slices.Contains(granted, "secrets") || len(rule.NonResourceURLs) > 0 {
				t.Errorf("the rule %+v grants too much", rule)
			}
		}
	}
}

// TestUserRoles_neverWriteStatus checks which rights on Echoes' subresources the user roles grant. Only the operator writes the status.
func TestUserRoles_neverWriteStatus(t *testing.T) {
	for role, want := range map[string]string{
		"viewer": "get echoes/scale, get echoes/status",
		"editor": "get echoes/scale, get echoes/status, patch echoes/scale, update echoes/scale",
		"admin":  "get echoes/scale, get echoes/status, patch echoes/scale, update echoes/finalizers, update echoes/scale",
	} {
		var granted []string
		for _, rule := range read[rbacv1.ClusterRole](t, "config", "rbac", "echo_"+role+"_role.yaml").Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if strings.Contains(resource, "/") {
						granted = append(granted, verb+" "+resource)
					}
				}
			}
		}
		slices.Sort(granted)
		if got := strings.Join(granted, ", "); got != want {
			t.Errorf("the %s can %s, want %s", role, got, want)
		}
	}
}

// TestClusterRoles_areListedOnlyForConsole checks that the operator can list ClusterRoles only if OLM installed it, and that the page on
// OperatorHub explains this right and the rights of users.
func TestClusterRoles_areListedOnlyForConsole(t *testing.T) {
	if rendered := fmt.Sprint(kustomized(t, "resources: [../config/default]")); strings.Contains(rendered, "clusterroles") {
		t.Error("install.yaml grants rights on ClusterRoles")
	}
	for _, want := range []string{"The operator can list ClusterRoles.", "as any ServiceAccount of the namespace.", "`POD_SECURITY` restricts"} {
		if !strings.Contains(bundleCSV(t).Spec.Description, want) {
			t.Errorf("the description does not contain %q", want)
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

// TestTheOldestKubernetes checks that the bundle requires the oldest tested Kubernetes version, and the first OpenShift version that
// includes it. The community pipeline rejects a bundle that specifies only one of these versions, or an older OpenShift version.
func TestTheOldestKubernetes(t *testing.T) {
	annotations := read[struct{ Annotations map[string]string }](t, "bundle", "metadata", "annotations.yaml").Annotations
	openshift := annotations["com.redhat.openshift.versions"]
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
