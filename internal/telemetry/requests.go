package telemetry

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
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

// WrappedRoundTripper implements net.RoundTripperWrapper from k8s.io/apimachinery. Otherwise, client-go logs a warning about each request
// that exceeds its time limit.
func (c *countedRequests) WrappedRoundTripper() http.RoundTripper { return c.next }

// operationOf returns the verb and the resource of a request in the form that RBAC rules use, such as "patch" and "echoes/status". For a
// non-resource request, such as for the API server's version, the resource is "none". The API server's URL may have a path prefix.
func operationOf(r *http.Request) (verb, resource string) {
	factory := request.RequestInfoFactory{APIPrefixes: map[string]sets.Empty{"api": {}, "apis": {}},
		GrouplessAPIPrefixes: map[string]sets.Empty{"api": {}}}
	without := &http.Request{Method: r.Method, URL: &url.URL{Path: pathPrefix.ReplaceAllString(r.URL.Path, "$1"), RawQuery: r.URL.RawQuery}}
	info, err := factory.NewRequestInfo(without)
	if err != nil || !info.IsResourceRequest {
		return strings.ToLower(r.Method), "none"
	}
	return info.Verb, strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/")
}

// pathPrefix matches the path up to the API.
var pathPrefix = regexp.MustCompile(`^.*?(/api/v1/|/apis/)`)
