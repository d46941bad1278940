package statusapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/history"
)

// store is a reader that holds Echoes, pods, and a lease. Its errors depend on the Go type of the object to read.
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
				into.Items = append(into.Items, s.pods[i])
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
		Cached: s, Live: s, History: history.New(func() time.Time { return time.Unix(1000, 0) }), Metrics: prometheus.NewRegistry(),
		Elected: elected, Lease: client.ObjectKey{Namespace: "operators", Name: "lease"}, Replica: "manager-1", Version: "v9",
	}
	for _, change := range changes {
		change(server)
	}
	return server
}

func TestServer_servesOnlyKnownRoutes(t *testing.T) {
	handler := newServer(true, &store{}).handler()
	for name, c := range map[string]struct {
		method, url string
		want        int
	}{
		"Echoes":                   {http.MethodGet, "/echoes", http.StatusOK},
		"one Echo":                 {http.MethodGet, "/echoes/ns/x", http.StatusNotFound},
		"a namespace as a path":    {http.MethodGet, "/echoes/ns", http.StatusNotFound},
		"more than a name":         {http.MethodGet, "/echoes/ns/x/y", http.StatusNotFound},
		"to change an Echo":        {http.MethodPut, "/echoes/ns/x", http.StatusMethodNotAllowed},
		"to delete an Echo":        {http.MethodDelete, "/echoes/ns/x", http.StatusMethodNotAllowed},
		"to create an Echo":        {http.MethodPost, "/echoes", http.StatusMethodNotAllowed},
		"diagnostics":              {http.MethodGet, "/diagnostics", http.StatusOK},
		"to change diagnostics":    {http.MethodPut, "/diagnostics", http.StatusMethodNotAllowed},
		"a path that is not known": {http.MethodGet, "/echo", http.StatusNotFound},
	} {
		NewWithT(t).Expect(request(t, handler, c.method, c.url).Code).To(Equal(c.want), name)
	}
}

func TestWriteJSON_indentsAndPreventsCaching(t *testing.T) {
	out := request(t, newServer(true, &store{}).handler(), http.MethodGet, "/echoes")
	header := out.Header()
	if header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" ||
		out.Body.String() != "{\n  \"items\": []\n}\n" {
		t.Errorf("got %v and %q", header, out.Body)
	}
}

func TestDiagnose_leader(t *testing.T) {
	g := NewWithT(t)
	server := newServer(true, &store{}, func(s *Server) { s.Namespaces = []string{"a", "b"} })
	server.History.AddReconcile(types.NamespacedName{Namespace: "a", Name: "x"}, time.Unix(999, 0), errors.New("refused"))
	got, want := diagnosis{}, diagnosis{
		Version: "v9", Replica: "manager-1", Leader: "manager-1", Leads: true, Namespaces: []string{"a", "b"},
		Echoes: []reconcileView{{Namespace: "a", Name: "x", LastReconcile: time.Unix(1000, 0).UTC(), LastReconcileMillis: 1000,
			Error: "refused"}},
	}
	g.Expect(json.Unmarshal(request(t, server.handler(), http.MethodGet, "/diagnostics").Body.Bytes(), &got)).To(Succeed())
	g.Expect(got).To(BeComparableTo(want))
}

func TestDiagnose_otherReplica(t *testing.T) {
	server := newServer(false, &store{holder: "manager-0_uuid"})
	server.History.AddReconcile(types.NamespacedName{Namespace: "a", Name: "x"}, time.Unix(999, 0), nil) // when it was the leader
	out := request(t, server.handler(), http.MethodGet, "/diagnostics")
	got, want := diagnosis{}, diagnosis{Version: "v9", Replica: "manager-1", Leader: "manager-0", Namespaces: []string{}}
	NewWithT(t).Expect(json.Unmarshal(out.Body.Bytes(), &got)).To(Succeed())
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(out.Body.String(), `"namespaces": []`) {
		t.Error(diff, out.Body)
	}
}
