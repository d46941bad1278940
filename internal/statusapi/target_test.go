package statusapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestAttributes(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane"}
	echoes := func(verb, namespace, name string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: jane, Verb: verb, ResourceRequest: true, APIGroup: "example.com", APIVersion: "v1",
			Resource: "echoes", Namespace: namespace, Name: name}
	}
	path := func(verb, path string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: jane, Verb: verb, Path: path}
	}
	for name, c := range map[string]struct {
		method, url string
		want        authorizer.AttributesRecord
	}{
		"all":                      {http.MethodGet, "/echoes", echoes("list", "", "")},
		"all, with a slash":        {http.MethodGet, "/echoes/", echoes("list", "", "")},
		"of a namespace":           {http.MethodGet, "/echoes?namespace=a", echoes("list", "a", "")},
		"of two namespaces":        {http.MethodGet, "/echoes?namespace=a&namespace=b", echoes("list", "a", "")},
		"one":                      {http.MethodGet, "/echoes/a/x", echoes("get", "a", "x")},
		"one, and a namespace":     {http.MethodGet, "/echoes/a/x?namespace=b", echoes("get", "a", "x")},
		"one, with a hidden slash": {http.MethodGet, "/echoes/a%2Fb/x", echoes("get", "a", "b/x")},
		"another method":           {http.MethodDelete, "/echoes/a/x", echoes("get", "a", "x")}, // the handler rejects this method
		"metrics":                  {http.MethodGet, "/metrics", path("get", "/metrics")},
		"metrics of a namespace":   {http.MethodGet, "/metrics?namespace=a", path("get", "/metrics")},
		"to change metrics":        {http.MethodPut, "/metrics", path("put", "/metrics")},
		"a similar path":           {http.MethodGet, "/echoes2/a/x", path("get", "/echoes2/a/x")},
	} {
		t.Run(name, func(t *testing.T) {
			got := attributes(jane, httptest.NewRequestWithContext(t.Context(), c.method, c.url, http.NoBody))
			NewWithT(t).Expect(got).To(BeComparableTo(c.want, cmp.AllowUnexported(authorizer.AttributesRecord{})))
		})
	}
}

func TestTarget_rejectsInvalidNamespace(t *testing.T) {
	for namespace, want := range map[string]bool{"": true, "a-1": true, "A": false, "a/b": false, "..": false} {
		if err := (target{namespace: namespace}).check(); (err == nil) != want {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}
