package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// CountRequests returns a transport that counts requests to the API server and sends them through next.
func (m *Metrics) CountRequests(next http.RoundTripper) http.RoundTripper {
	return &countedRequests{next, m.requests}
}

type countedRequests struct {
	next    http.RoundTripper
	counter *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (c *countedRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	code := "error"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
	}
	verb, resource := operationOf(r)
	c.counter.WithLabelValues(verb, resource, code).Inc()
	return response, err
}

// WrappedRoundTripper implements net.RoundTripperWrapper from k8s.io/apimachinery.
func (c *countedRequests) WrappedRoundTripper() http.RoundTripper { return c.next }

// operationOf returns the verb and the resource of a request in the form that RBAC rules use, such as "patch" and "echoes/status". For a
// non-resource request, such as a request for the API server's version, the resource is "none". The API server's URL may have a path
// prefix.
func operationOf(r *http.Request) (verb, resource string) {
	resource, named := resourceOf(r.URL.Path)
	watch, reads := r.URL.Query().Get("watch"), r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && (watch == "true" || watch == "1"):
		return "watch", resource
	case reads && !named && resource != noResource:
		return "list", resource
	case reads:
		return "get", resource
	case r.Method == http.MethodPost:
		return "create", resource
	case r.Method == http.MethodPut:
		return "update", resource
	case r.Method == http.MethodDelete && !named:
		return "deletecollection", resource
	default:
		return strings.ToLower(r.Method), resource
	}
}

const noResource = "none"

// resourceOf returns the resource in a path, and reports whether the path names an object.
func resourceOf(path string) (resource string, named bool) {
	_, rest, found := strings.Cut(path, "/api/")
	before := 1 // the API version
	if !found {
		_, rest, found = strings.Cut(path, "/apis/")
		before = 2 // the API group and version
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	if !found || len(parts) <= before {
		return noResource, false
	}
	parts = parts[before:]
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	switch len(parts) {
	case 1:
		return parts[0], false
	case 2:
		return parts[0], true
	default:
		return parts[0] + "/" + parts[2], true
	}
}
