package telemetry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestOperationOf(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api":                        "get none",
		"GET /apis/example.com/v1":        "get none",
		"GET /apis/example.com/v1/echoes": "list echoes",
		"GET /apis/example.com/v1/echoes?watch=true&resourceVersion=1":          "watch echoes",
		"GET /api/v1/pods?limit=500&watch=1":                                    "watch pods",
		"GET /apis/example.com/v1/namespaces/shop/echoes/a":                     "get echoes",
		"PATCH /apis/example.com/v1/namespaces/shop/echoes/a/status?force=true": "patch echoes/status",
		"PATCH /apis/apps/v1/namespaces/shop/deployments/a?fieldManager=e":      "patch deployments",
		"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews":           "create selfsubjectaccessreviews",
		"DELETE /api/v1/namespaces/shop/pods/a":                                 "delete pods",
		"DELETE /api/v1/namespaces/shop/pods":                                   "deletecollection pods",
		"GET /api/v1/namespaces":                                                "list namespaces",
		"GET /api/v1/namespaces/shop":                                           "get namespaces",
		"PUT /api/v1/namespaces/shop/finalize":                                  "update namespaces/finalize",
		"GET /api/v1/nodes/n1":                                                  "get nodes",
		"GET /k8s/clusters/c-1/api/v1/namespaces/shop/services/a":               "get services",
		"GET /k8s/clusters/c-1/apis/example.com/v1/echoes":                      "list echoes",
		"GET /api/clusters/c-1/apis/example.com/v1/echoes":                      "list echoes",
		"GET /apis/example.com/v1/namespaces/api/echoes/a":                      "get echoes",
	} {
		method, url, _ := strings.Cut(request, " ")
		verb, resource := operationOf(httptest.NewRequest(method, url, nil))
		NewWithT(t).Expect(verb+" "+resource).To(Equal(want), "%s", request)
	}
}

func TestRequests_countsResponsesAndErrors(t *testing.T) {
	metrics, refused := NewMetrics(time.Now), errors.New("refused")
	transport := metrics.CountRequests(roundTrip(func(*http.Request) (*http.Response, error) {
		if refused != nil {
			return nil, refused
		}
		return &http.Response{StatusCode: http.StatusConflict, Body: http.NoBody}, nil
	}))
	send := func() error {
		response, err := transport.RoundTrip(httptest.NewRequest(http.MethodPatch, "/apis/example.com/v1/namespaces/shop/echoes/a", nil))
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	if err := send(); !errors.Is(err, refused) {
		t.Error(err)
	}
	refused = nil
	for range 2 {
		NewWithT(t).Expect(send()).To(Succeed())
	}
	wantMetrics(t, metrics.requests, "api_requests_total", `
		echo_operator_api_requests_total{code="409",resource="echoes",verb="patch"} 2
		echo_operator_api_requests_total{code="error",resource="echoes",verb="patch"} 1
	`)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
