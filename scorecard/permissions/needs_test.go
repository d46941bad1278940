package permissions

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/echo-operator/echo-operator/internal/children"
)

// TestChildrenAreThoseThatTheOperatorMakes checks that no kind is missing: it would need no permissions.
func TestChildrenAreThoseThatTheOperatorMakes(t *testing.T) {
	var want []Child
	for _, kind := range children.Kinds() {
		gvk, err := apiutil.GVKForObject(kind, clientgoscheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		want = append(want, Child{gvk.Group, gvk.Version, gvk.Kind, plural.Resource})
	}
	byKind := func(a, b Child) int { return strings.Compare(a.Kind, b.Kind) }
	got := Children()
	slices.SortFunc(want, byKind)
	slices.SortFunc(got, byKind)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the children (-want +got):\n%s", diff)
	}
}

// TestReadIsOnlyToRead checks that nothing is written by these permissions: what writes must leave a trace.
func TestReadIsOnlyToRead(t *testing.T) {
	all := read()
	for _, p := range all {
		if !slices.Contains([]string{"get", "list", "watch"}, p.Verb) {
			t.Errorf("%s is no permission to read", p)
		}
	}
	for _, child := range Children() {
		for _, verb := range []string{"get", "list", "watch"} {
			if want := (Permission{child.Group, child.Resource, verb, ""}); !slices.Contains(all, want) {
				t.Errorf("the operator reads every child, and %s is missing", want)
			}
		}
	}
}

// TestNeedsAreNotDangerous checks that no permission is both needed and dangerous: no bundle could pass.
func TestNeedsAreNotDangerous(t *testing.T) {
	seen := map[Permission]bool{}
	for _, p := range slices.Concat(read(), optional(), everything().Written()) {
		if slices.Contains(Dangerous(), p) {
			t.Errorf("%s is needed and dangerous", p)
		}
		if seen[p] {
			t.Errorf("%s is needed twice", p)
		}
		seen[p] = true
	}
}

// TestWaysToTakeAClusterOver lists permissions of which each is enough to become the administrator of a cluster, or to read its secrets.
func TestWaysToTakeAClusterOver(t *testing.T) {
	for _, p := range []Permission{
		{"*", "*", "*", ""}, {"", "secrets", "get", ""}, {"", "secrets", "list", ""}, {"", "secrets", "watch", ""}, {"", "pods/exec", "create", ""}, {"", "pods/exec", "get", ""},
		{"", "pods/attach", "create", ""}, {"", "pods/ephemeralcontainers", "patch", ""}, {"", "nodes/proxy", "get", ""}, {"", "nodes", "patch", ""},
		{"", "serviceaccounts/token", "create", ""}, {"", "serviceaccounts", "impersonate", ""}, {"", "users", "impersonate", ""}, {"", "groups", "impersonate", ""},
		{"rbac.authorization.k8s.io", "clusterroles", "escalate", ""}, {"rbac.authorization.k8s.io", "clusterroles", "bind", ""},
		{"rbac.authorization.k8s.io", "roles", "escalate", ""}, {"rbac.authorization.k8s.io", "clusterrolebindings", "create", ""},
		{"rbac.authorization.k8s.io", "rolebindings", "create", ""}, {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", "create", ""},
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations", "create", ""}, {"apiextensions.k8s.io", "customresourcedefinitions", "delete", ""},
		{"certificates.k8s.io", "certificatesigningrequests/approval", "update", ""}, {"", "namespaces", "delete", ""}, {"coordination.k8s.io", "leases", "update", ""},
		{"coordination.k8s.io", "leases", "patch", ""}, {"coordination.k8s.io", "leases", "delete", ""}, {"example.com", "echoes", "delete", ""},
	} {
		if !slices.Contains(Dangerous(), p) {
			t.Errorf("%s is not called dangerous", p)
		}
	}
}

func TestIsForOwnNamespace(t *testing.T) {
	for permission, want := range map[Permission]bool{
		{"coordination.k8s.io", "leases", "get", ""}:               true,
		{"coordination.k8s.io", "leases", "update", ""}:            true,
		{"events.k8s.io", "events", "create", ""}:                  false,
		{"monitoring.coreos.com", "prometheusrules", "create", ""}: true,
		{"monitoring.coreos.com", "podmonitors", "create", ""}:     false,
		{"", "pods", "list", ""}:                                   false,
		{"apps", "deployments", "patch", ""}:                       false,
		{"example.com", "echoes", "watch", ""}:                     false,
	} {
		if got := IsForOwnNamespace(permission); got != want {
			t.Errorf("%s: %t, want %t", permission, got, want)
		}
	}
}
