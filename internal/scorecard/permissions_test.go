package scorecard

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
)

func TestReview(t *testing.T) {
	asked := check{"echoes", Permission{Group: "apps", Resource: "deployments/scale", Verb: "patch", Name: "x"}, true}
	want := authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:operators:manager",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:operators", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "echoes", Group: "apps", Resource: "deployments", Subresource: "scale",
			Verb: "patch", Name: "x"}}
	if diff := cmp.Diff(want, asked.review("operators", "manager").Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPermissions checks that the scorecard test asks about each listed permission where it is granted, and about each dangerous permission
// cluster-wide, in the operator's namespace, and in the Echoes' namespace.
func TestPermissions(t *testing.T) {
	const lease = "leases.coordination.k8s.io"
	for name, c := range map[string]struct {
		namespace, verb, resource string
		isAllowed                 bool
		want                      string
	}{
		"all as listed":              {"default", "list", "secrets", true, ""},
		"an Echo's child is refused": {"echoes", "create", "services", false, `may not create services in "echoes",`},
		"the lease is refused": {"operators", "update", "leases", false,
			`may not update ` + lease + `/echo-operator.example.com in "operators",`},
		"the monitor is refused": {"operators", "create", "servicemonitors", false,
			`may not create servicemonitors.monitoring.coreos.com in "operators",`},
		"a PodMonitor is refused": {"echoes", "create", "podmonitors", false,
			`may not create podmonitors.monitoring.coreos.com in "echoes",`},
		"nodes are refused":         {"", "watch", "nodes", false, `may not watch nodes in "",`},
		"a danger everywhere":       {"", "list", "secrets", true, `may list secrets in "",`},
		"a danger for the operator": {"operators", "list", "secrets", true, `may list secrets in "operators",`},
		"a danger for the Echoes":   {"echoes", "list", "secrets", true, `may list secrets in "echoes",`},
		"a danger of other leases":  {"operators", "delete", "leases", true, `may delete ` + lease + ` in "operators",`},
		"an unused permission":      {"echoes", "list", "jobs", true, ""},
	} {
		b := ownBundle(t)
		w := newWorld(t, operatorPod(b))
		byDefault := w.allowed
		w.allowed = func(spec authorizationv1.SubjectAccessReviewSpec) bool {
			a := spec.ResourceAttributes
			if a.Namespace == c.namespace && a.Verb == c.verb && a.Resource == c.resource {
				return c.isAllowed
			}
			return byDefault(spec)
		}
		problems, err := w.permissions(t.Context(), b)
		got := strings.Join(problems, "\n")
		if err != nil || (got == "") != (c.want == "") || len(problems) > 1 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", name, problems, err, c.want)
		}
	}
}

// TestBundle_permitsOnlyOwnLease checks that the bundle's lease permissions cover only the operator's own lease. If the operator watches
// all namespaces, OLM grants namespaced rules in all of them. A wider permission would include the leases of nodes and the control plane.
func TestBundle_permitsOnlyOwnLease(t *testing.T) {
	var leases []string
	for _, p := range Listed(ownBundle(t).Permissions[0].Rules) {
		if p.Group == "coordination.k8s.io" {
			leases = append(leases, p.String())
		}
	}
	// When the API server authorizes a create request, it does not know the name of the object.
	own := "leases.coordination.k8s.io/echo-operator.example.com"
	want := []string{"create leases.coordination.k8s.io", "get " + own, "update " + own}
	if !slices.Equal(leases, want) {
		t.Errorf("the bundle lists %q, want %q", leases, want)
	}
}

func TestDangerous_isAbsentFromBundle(t *testing.T) {
	b := ownBundle(t)
	all := Listed(slices.Concat(b.Permissions[0].Rules, b.ClusterPermissions[0].Rules))
	for _, p := range Listed(dangerous()) {
		if slices.Contains(all, p) {
			t.Errorf("the bundle lists %s", p)
		}
	}
}
