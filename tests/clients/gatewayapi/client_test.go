// Package gatewayapi tests that the Gateway API conformance suite's client can parse the echo server's response.
package gatewayapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"

	"github.com/echo-operator/echo-operator/tests/clients"
)

func TestClientParsesResponse(t *testing.T) {
	address := clients.Start(t, "ECHO_POD_NAMESPACE=ns", "ECHO_POD_NAME=pod-1", "ECHO_SERVICE_NAME=service", "ECHO_INGRESS_NAME=ingress")
	client := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	for protocol, proto := range map[string]string{"": "HTTP/1.1", roundtripper.H2CPriorKnowledgeProtocol: "HTTP/2.0"} {
		request, response, err := client.CaptureRoundTrip(roundtripper.Request{
			T: t, URL: url.URL{Scheme: "http", Host: address, Path: "/a/b", RawQuery: "x=1&y=%20"}, Host: "example.com", Protocol: protocol,
			Method: http.MethodPut, Body: "hello",
			Headers: map[string][]string{"X-A": {"1"}, "X-Echo-Set-Header": {"X-Set:set, X-More:more"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string][2]string{
			"path": {request.Path, "/a/b?x=1&y=%20"}, "host": {request.Host, "example.com"}, "method": {request.Method, "PUT"},
			"protocol":  {request.Protocol, proto},
			"namespace": {request.Namespace, "ns"}, "pod": {request.Pod, "pod-1"}, "TLS": {request.TLS.Version, ""},
			"HTTP port": {request.HTTPPort, address[strings.LastIndex(address, ":")+1:]}, "X-A": {strings.Join(request.Headers["X-A"], ","), "1"},
			"status": {fmt.Sprint(response.StatusCode), "200"}, "X-Set": {strings.Join(response.Headers["X-Set"], ","), "set"},
			"X-More": {strings.Join(response.Headers["X-More"], ","), "more"},
		} {
			if c[0] != c[1] {
				t.Errorf("%s: the %s is %q, want %q", proto, what, c[0], c[1])
			}
		}
	}
}
