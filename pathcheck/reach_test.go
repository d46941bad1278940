package pathcheck

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRun_rsaKeyExchange checks that pathcheck can reach a server that supports only RSA key exchange.
func TestRun_rsaKeyExchange(t *testing.T) {
	address, _ := startEcho(t)
	server := httptest.NewUnstartedServer(proxyTo(address, nothing))
	server.TLS = &tls.Config{MaxVersion: tls.VersionTLS12,
		CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}} //nolint:gosec // the subject of the test
	server.StartTLS()
	t.Cleanup(server.Close)
	report := check(t, Options{URL: server.URL, Groups: []string{"tls"}})
	expectFacts(t, report, map[string]string{"tls.cipher": "RSA_WITH_AES_128_GCM_SHA256"})
}

// TestRun_directRequestsHaveTheSource checks that direct requests, which bypass the proxies, also come from the source address.
func TestRun_directRequestsHaveTheSource(t *testing.T) {
	address, _ := startEcho(t)
	proxy, sources := proxyTo(address, nothing), sync.Map{}
	direct := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		sources.Store(host, true)
		proxy.ServeHTTP(w, r)
	}))
	report := check(t, Options{URL: serve(t, proxy), Direct: direct, Groups: []string{"latency"}})
	if report.fact("latency.direct.p50") == nil {
		t.Errorf("the report is %+v", report)
	}
	sources.Range(func(source, _ any) bool {
		if source != client127 {
			t.Errorf("a request came from %s", source)
		}
		return true
	})
}

// TestRun_silence checks that the verdict reports the part of the path that gave no response, and that the Service is queried even if the
// request to the URL lasts until the deadline.
func TestRun_silence(t *testing.T) {
	silent, open := echotest.Silent(t), serve(t, http.NotFoundHandler())
	report := check(t, Options{URL: silent + "/shop", Service: open, Deadline: 300 * time.Millisecond})
	v, err := verdict.Decode(string(report.Verdict()))
	if want := strings.TrimPrefix(silent, "http://"); err != nil || v.Silent != verdict.SilentURL || v.Address != want {
		t.Errorf("%v: the verdict is %+v", err, v)
	}
	report = check(t, Options{URL: open, Service: silent})
	if v, err := verdict.Decode(string(report.Verdict())); err != nil || v.Problem == "" || v.Silent != "" || v.Address != "" {
		t.Errorf("%v: the verdict on another server is %+v", err, v)
	}
}

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
