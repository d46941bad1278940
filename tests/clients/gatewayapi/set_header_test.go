package gatewayapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// TestSetHeaders sends the X-Echo-Set-Header header in each request, usually with an empty value, as the suite's MakeRequest does.
func TestSetHeaders(t *testing.T) {
	client := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	addresses := map[string]string{}
	for _, policy := range []string{"Safe", "Full", "None"} {
		addresses[policy] = clients.Start(t, "ECHO_CONTROLS="+policy)
	}
	for name, c := range map[string]struct {
		policy string
		set    []string
		status int
	}{
		"Safe, no header":             {"Safe", nil, http.StatusOK},
		"Full, no header":             {"Full", nil, http.StatusOK},
		"None, no header":             {"None", nil, http.StatusOK},
		"Safe, a header of the suite": {"Safe", []string{"X-Header-Set:a"}, http.StatusBadRequest},
		"Full, headers of the suite": {"Full", []string{"Some-Other-Header:val", "X-Header-Set:some-other-value", "X-Header-Add-2:add-val-2",
			"Another-Header:another-header-val", "X-Header-Echo:echo", "x-header-remove:original-val-remove"}, http.StatusOK},
	} {
		_, response, err := client.CaptureRoundTrip(roundtripper.Request{T: t, URL: url.URL{Scheme: "http", Host: addresses[c.policy], Path: "/"},
			Method: http.MethodGet, Headers: map[string][]string{"X-Echo-Set-Header": {strings.Join(c.set, ",")}}})
		if err != nil || response.StatusCode != c.status {
			t.Errorf("%s: the response is %+v, %v, want %d", name, response, err, c.status)
			continue
		}
		for _, each := range c.set {
			header, value, _ := strings.Cut(each, ":")
			got := strings.Join(response.Headers[http.CanonicalHeaderKey(header)], ",")
			if isSet := got == value; isSet != (c.status == http.StatusOK) {
				t.Errorf("%s: %s is %q", name, header, got)
			}
		}
	}
}
