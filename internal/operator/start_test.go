package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
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

// useCluster makes KUBECONFIG point to a server.
func useCluster(t *testing.T, host string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}], current-context: c}", host)
	NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
}

func TestFindCluster_setsUserAgent(t *testing.T) {
	var agents, paths []string
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		agents, paths = append(agents, r.UserAgent()), append(paths, r.URL.Path)
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","resources":[]}`))
	}))
	defer server.Close()
	useCluster(t, server.URL)
	cluster, err := FindCluster(t.Context(), "v9", schema.GroupVersion{Group: "apps", Version: "v1"})
	if err != nil || cluster.Host != server.URL || !strings.HasPrefix(cluster.UserAgent, "echo-operator/v9 (") {
		t.Errorf("got %v, %v", cluster, err)
	}
	if len(agents) != 1 || agents[0] != cluster.UserAgent || paths[0] != "/apis/apps/v1" {
		t.Errorf("%v asked for %v", agents, paths)
	}
	NewWithT(t).Expect(cluster.Timeout).To(BeZero())
}

func TestCheckCluster(t *testing.T) {
	const served = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"echoes","kind":"Echo"}]}`
	const empty = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[]}`
	pods := schema.GroupVersion{Version: "v1"}
	for name, c := range map[string]struct {
		api    schema.GroupVersion
		status int
		body   string
		want   string
	}{
		"served":               {v1.GroupVersion, http.StatusOK, served, ""},
		"being deleted":        {v1.GroupVersion, http.StatusOK, empty, "does not serve the kind Echo"},
		"not installed":        {v1.GroupVersion, http.StatusNotFound, "", "manager crd | kubectl apply"},
		"another API":          {pods, http.StatusOK, empty, ""},
		"no credentials":       {pods, http.StatusUnauthorized, "", "rejects these credentials"},
		"no permission":        {v1.GroupVersion, http.StatusForbidden, "", "rejects these credentials"},
		"an overloaded server": {v1.GroupVersion, http.StatusInternalServerError, "", "does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "application/json")
				out.WriteHeader(c.status)
				_, _ = out.Write([]byte(c.body))
			}))
			defer server.Close()
			err := checkCluster(t.Context(), &rest.Config{Host: server.URL}, c.api)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRun_failsWithoutKindEcho(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	useCluster(t, server.URL)
	options, err := parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Run(t.Context(), options)).To(MatchError(ContainSubstring("does not serve the kind Echo")))
}

// TestNew_failsWithoutTLSProfile checks that the operator does not assume a TLS profile if it had no time to read the cluster's profile.
func TestNew_failsWithoutTLSProfile(t *testing.T) {
	g := NewWithT(t)
	options, err := parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = New(ended, &rest.Config{Host: "http://192.0.2.1"}, options)
	g.Expect(err).To(MatchError(HavePrefix("reading the TLS profile of the cluster: ")))
}

func TestRun_failsWithoutCluster(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, []byte("{"), 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	options, err := parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Run(t.Context(), options)).To(MatchError(ContainSubstring("no cluster is configured: set KUBECONFIG to the path of a kubeconfig file")))
}
