package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// reviewer starts an API server that reports which rights its client has, and returns the client's configuration.
func reviewer(t *testing.T, all func(authorizationv1.ResourceAttributes) (int, bool)) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		review := authorizationv1.SelfSubjectAccessReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || r.URL.Path != "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		code := 0
		code, review.Status.Allowed = all(*review.Spec.ResourceAttributes)
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(code)
		_ = json.NewEncoder(out).Encode(review)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1, ContentType: "application/json"}
}

func TestCheckNamespaces_reportsMissingRights(t *testing.T) {
	cluster := reviewer(t, func(right authorizationv1.ResourceAttributes) (int, bool) {
		watchesServices := right.Verb == "watch" && right.Resource == "services"
		return http.StatusCreated, right.Namespace == "a" || right.Namespace == "b" && right.Group != "apps" && !watchesServices
	})
	got, err := checkNamespaces(t.Context(), cluster, []string{"a", "b"})
	if diff := cmp.Diff(missingRights{"b": {"watch services", "list and watch deployments.apps"}}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	const want = "the operator may not watch services, list and watch deployments.apps in namespace b: create a RoleBinding"
	NewWithT(t).Expect(got.in("b")).To(HavePrefix(want))
}

func TestCheckNamespaces_sendsNoReviewsForAllNamespaces(t *testing.T) {
	cluster := reviewer(t, func(right authorizationv1.ResourceAttributes) (int, bool) {
		t.Errorf("the operator asks for %+v", right)
		return http.StatusCreated, false
	})
	if got, err := checkNamespaces(t.Context(), cluster, nil); len(got) > 0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCheckNamespaces_failsWithoutWatchableNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		code       int
		namespaces []string
		want       string
	}{
		"one":               {http.StatusCreated, []string{"a"}, "no namespace of WATCH_NAMESPACE can be watched: the operator may not"},
		"one, given twice":  {http.StatusCreated, []string{"a", "a"}, "no namespace of WATCH_NAMESPACE can be watched: the operator may not"},
		"an overloaded one": {http.StatusInternalServerError, []string{"a"}, "does not report what the operator may do"},
		"no one may ask":    {http.StatusForbidden, []string{"a"}, ""},
	} {
		cluster := reviewer(t, func(authorizationv1.ResourceAttributes) (int, bool) { return c.code, false })
		got, err := checkNamespaces(t.Context(), cluster, c.namespaces)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// TestCheckNamespaces_roleGrantsRequiredRights checks that the role that a RoleBinding grants is sufficient to watch a namespace.
func TestCheckNamespaces_roleGrantsRequiredRights(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../config/rbac/role.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	role := rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(text, &role)).To(Succeed())
	cluster := reviewer(t, func(right authorizationv1.ResourceAttributes) (int, bool) {
		return http.StatusCreated, slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, right.Group) && slices.Contains(rule.Resources, right.Resource) && slices.Contains(rule.Verbs,
				right.Verb)
		})
	})
	if got, err := checkNamespaces(t.Context(), cluster, []string{"a"}); len(got) > 0 || err != nil {
		t.Errorf("missing: %v, %v", got, err)
	}
}
