package echoesapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// store is a reader that holds Echoes, pods, and a lease. Like the operator's cache, it returns only the parts that the operator reads. Its
// errors depend on the Go type of the object to read.
type store struct {
	echoes []v1.Echo
	pods   []corev1.Pod
	holder string
	fail   map[string]error
}

// Get implements client.Reader.
func (s *store) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch into := object.(type) {
	case *v1.Echo:
		for i := range s.echoes {
			if client.ObjectKeyFromObject(&s.echoes[i]) == key {
				s.echoes[i].DeepCopyInto(into)
				if _, err := objects.Strip(into); err != nil {
					return err
				}
				return s.fail["Echo"]
			}
		}
	case *coordinationv1.Lease:
		if s.fail["Lease"] != nil {
			return s.fail["Lease"]
		}
		if key.Name == "" { // a real client rejects an empty name without sending a request
			return errors.New("resource name may not be empty")
		}
		if s.holder != "" && key.Name == "lease" {
			into.Spec.HolderIdentity = &s.holder
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List implements client.Reader.
func (s *store) List(_ context.Context, list client.ObjectList, given ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(given)
	in := func(namespace string) bool { return options.Namespace == "" || options.Namespace == namespace }
	switch into := list.(type) {
	case *v1.EchoList:
		for i := range s.echoes {
			if in(s.echoes[i].Namespace) {
				into.Items = append(into.Items, s.echoes[i])
			}
		}
		return s.fail["EchoList"]
	case *corev1.PodList:
		for i := range s.pods {
			if in(s.pods[i].Namespace) {
				stripped, err := objects.Strip(&s.pods[i])
				if err != nil {
					return err
				}
				into.Items = append(into.Items, *stripped.(*corev1.Pod))
			}
		}
		return s.fail["PodList"]
	}
	return errors.New("it holds no such objects")
}

// newServer returns the status API of the leader or of another replica.
func newServer(leads bool, s *store, changes ...func(*Server)) *Server {
	elected := make(chan struct{})
	if leads {
		close(elected)
	}
	server := &Server{
		Cached: s, Live: s, Elected: elected, Lease: client.ObjectKey{Namespace: "operators", Name: "lease"},
	}
	for _, change := range changes {
		change(server)
	}
	return server
}

func request(t *testing.T, handler http.Handler, method, url string) *httptest.ResponseRecorder {
	t.Helper()
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody))
	return out
}

func message(t *testing.T, out *httptest.ResponseRecorder) string {
	t.Helper()
	body := map[string]string{}
	if err := json.Unmarshal(out.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, out.Body)
	}
	return body["error"]
}

func TestWriteJSON_indentsAndPreventsCaching(t *testing.T) {
	out := request(t, newServer(true, &store{}).handler(), http.MethodGet, "/echoes")
	header := out.Header()
	if header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" ||
		out.Body.String() != "{\n  \"items\": []\n}\n" {
		t.Errorf("got %v and %q", header, out.Body)
	}
}

func TestQuestionOf(t *testing.T) {
	echoes := func(verb, namespace, name string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: "example.com", Version: "v1", Resource: "echoes", Namespace: namespace, Name: name}}
	}
	path := func(verb, path string) authorizationv1.SelfSubjectAccessReviewSpec {
		return authorizationv1.SelfSubjectAccessReviewSpec{
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: verb, Path: path}}
	}
	for name, c := range map[string]struct {
		method, url string
		want        authorizationv1.SelfSubjectAccessReviewSpec
	}{
		"all":                      {http.MethodGet, "/echoes", echoes("list", "", "")},
		"all, with a slash":        {http.MethodGet, "/echoes/", echoes("list", "", "")},
		"of a namespace":           {http.MethodGet, "/echoes?namespace=a", echoes("list", "a", "")},
		"of two namespaces":        {http.MethodGet, "/echoes?namespace=a&namespace=b", echoes("list", "a", "")},
		"one":                      {http.MethodGet, "/echoes/a/x", echoes("get", "a", "x")},
		"one, and a namespace":     {http.MethodGet, "/echoes/a/x?namespace=b", echoes("get", "a", "x")},
		"one, with a hidden slash": {http.MethodGet, "/echoes/a%2Fb/x", echoes("get", "a", "b/x")},
		"another method":           {http.MethodDelete, "/echoes/a/x", echoes("get", "a", "x")}, // the handler rejects this method
		"metrics":                  {http.MethodGet, "/metrics?namespace=a", path("get", "/metrics")},
		"to change metrics":        {http.MethodPut, "/metrics", path("put", "/metrics")},
		"a similar path":           {http.MethodGet, "/echoes2/a/x", path("get", "/echoes2/a/x")},
	} {
		got := questionOf(httptest.NewRequestWithContext(t.Context(), c.method, c.url, http.NoBody))
		NewWithT(t).Expect(got).To(BeComparableTo(c.want), name)
	}
}

func TestOnLeader(t *testing.T) {
	noElection := func(s *Server) { s.Lease = client.ObjectKey{} }
	for name, c := range map[string]struct {
		leads  bool
		store  store
		change func(*Server)
		status int
		want   map[string]string // in the body
	}{
		"the leader":                          {leads: true, status: http.StatusOK},
		"the leader, whatever the lease says": {leads: true, store: store{holder: "manager-0_uuid"}, status: http.StatusOK},
		"another replica": {store: store{holder: "manager-0_uuid"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "this replica is not the leader; ask pod manager-0", "leader": "manager-0"}},
		"a lease with underscores": {store: store{holder: "lap_top_1"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "this replica is not the leader; ask pod lap_top", "leader": "lap_top"}},
		"a lease without a suffix": {store: store{holder: "laptop"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "this replica is not the leader; ask pod laptop", "leader": "laptop"}},
		"no lease yet": {status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"a lease that was released": {store: store{holder: "_"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"about to start, without an election": {change: noElection, store: store{holder: "manager-0_uuid"},
			status: http.StatusServiceUnavailable, want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"a lease that cannot be read": {store: store{fail: map[string]error{"Lease": errors.New("refused")}},
			status: http.StatusServiceUnavailable,
			want:   map[string]string{"error": "this replica is not the leader, and the leader cannot be determined: reading the lease: refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(c.leads, &c.store)
			if c.change != nil {
				c.change(server)
			}
			c.store.echoes = threeEchoes().echoes
			for _, url := range []string{"/echoes", "/echoes/a/x"} {
				out := request(t, server.handler(), http.MethodGet, url)
				g.Expect(out.Code).To(Equal(c.status), "%s", url)
				if c.want == nil {
					continue
				}
				got := map[string]string{}
				g.Expect(json.Unmarshal(out.Body.Bytes(), &got)).To(Succeed())
				g.Expect(got).To(BeComparableTo(c.want), "%s", url)
			}
		})
	}
}
