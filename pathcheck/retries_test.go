package pathcheck

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRun_retriesByOtherPods sends requests through a path that retries a failed GET once, on another pod.
func TestRun_retriesByOtherPods(t *testing.T) {
	for _, c := range []struct {
		pods   int
		hidden string
		want   string
	}{
		{1, "ECHO_IDENTITY=true", "1"}, {2, "ECHO_IDENTITY=true", "1"}, {6, "ECHO_IDENTITY=true", "1"},
		{8, "ECHO_IDENTITY=true", "not reported"}, {2, "ECHO_IDENTITY=false", "not reported"}, {2, "ECHO_RESPONSE_BODY=hello", "not reported"},
	} {
		t.Run(fmt.Sprintf("%d pods, %s", c.pods, c.hidden), func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, retryingElsewhere(t, c.pods, c.hidden)), Groups: []string{"retries"}})
			expectFacts(t, report, map[string]string{"retries.get": c.want})
		})
	}
}

// retryingElsewhere returns a path that uses several pods in turn, and retries a failed GET once on the next pod.
func retryingElsewhere(t *testing.T, pods int, environ ...string) http.Handler {
	t.Helper()
	var proxies []http.Handler
	for i := range pods {
		address, _ := startEcho(t, append([]string{fmt.Sprintf("POD_NAME=web-%d", i)}, environ...)...)
		proxies = append(proxies, proxyTo(address, nothing))
	}
	var number atomic.Int64
	next := func() http.Handler { return proxies[int(number.Add(1))%pods] }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "status=503") && r.Method == http.MethodGet {
			next().ServeHTTP(httptest.NewRecorder(), r)
		}
		next().ServeHTTP(w, r)
	})
}
