package pathcheck

import (
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

// TestRun_limits examines the path's limits in combination with the Echo's own limits.
func TestRun_limits(t *testing.T) {
	const small, large = "ECHO_MAX_HEADER_BYTES=16384", "ECHO_MAX_HEADER_BYTES=65536"
	longer := func(bytes int) func(*http.Request) bool {
		return func(r *http.Request) bool { return len(r.Header.Get("X-Pathcheck-Size")) > bytes }
	}
	for name, c := range map[string]struct {
		environ string
		proxy   func(string) http.Handler
		facts   map[string]string
	}{
		"no limit of the path": {"", changes(nothing), map[string]string{"request.headers.size": "31Ki", "request.headers.size.by": "Echo",
			"request.headers.number": "80", "request.headers.number.by": "Echo", "request.url.size": "7Ki", "request.url.size.by": "Echo"}},
		"an Echo with a lower limit": {small, changes(nothing), map[string]string{"request.headers.size": "12Ki",
			"request.headers.size.by": "Echo"}},
		"an Echo with a higher limit": {large, changes(nothing), map[string]string{"request.headers.size": "63Ki",
			"request.headers.size.by": probe.None}},
		"HTTP/2 to the Echo": {"", overHTTP2, map[string]string{"request.headers.size": "31Ki", "request.headers.size.by": "Echo",
			"request.url.size.by": "Echo"}},
		"16 KiB, as in many load balancers": {"", refuseIf(400, longer(16<<10)), map[string]string{"request.headers.size": "16Ki",
			"request.headers.size.by": "proxy"}},
		"the status of the Echo": {"", refuseIf(431, longer(24<<10)), map[string]string{"request.headers.size": "24Ki",
			"request.headers.size.by": "proxy"}},
		"48 KiB before an Echo with a higher limit": {large, refuseIf(431, longer(48<<10)), map[string]string{"request.headers.size": "48Ki",
			"request.headers.size.by": "proxy"}},
		"headers from the path use up the Echo's limit": {"", changes(func(r *httputil.ProxyRequest) {
			r.Out.Header.Set("X-Amzn-Oidc-Data", strings.Repeat("x", 9<<10))
		}), map[string]string{"request.headers.size": "16Ki", "request.headers.size.by": "Echo"}},
		"pages for all errors": {"", changesResponses(func(r *http.Response) error {
			if r.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
				r.Body, r.ContentLength = http.NoBody, 0
				r.Header.Set("Content-Length", "0")
			}
			return nil
		}), map[string]string{"request.headers.size": "31Ki", "request.headers.size.by": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := startEcho(t, c.environ)
			expectFacts(t, check(t, Options{URL: serve(t, c.proxy(address)), Groups: []string{"request"}}), c.facts)
		})
	}
}
