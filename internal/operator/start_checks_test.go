package operator

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

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
		"an overloaded server": {v1.GroupVersion, http.StatusInternalServerError, "", "does not answer"},
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
