package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestNewAdmin checks complete responses from the admin port before and during draining.
func TestNewAdmin(t *testing.T) {
	const unknown = "echo-server: not found: the paths are /metrics, /livez, and /readyz\n"
	for name, c := range map[string]struct {
		path     string
		draining bool
		status   int
		body     string
	}{
		"live":                         {"/livez", false, 200, "ok\n"},
		"live while draining":          {"/livez", true, 200, "ok\n"},
		"ready":                        {"/readyz", false, 200, "ok\n"},
		"not ready while draining":     {"/readyz", true, 503, "draining\n"},
		"a query is ignored":           {"/readyz?verbose&echo.status=500", false, 200, "ok\n"},
		"another path":                 {"/", false, 404, unknown},
		"a path of the serving port":   {"/-/livez", false, 404, unknown},
		"a path below one that exists": {"/metrics/x", false, 404, unknown},
		"a slash too much":             {"/livez/", false, 404, unknown},
		"upper case":                   {"/LIVEZ", false, 404, unknown},
		"profiles":                     {"/debug/pprof/", false, 404, unknown},
	} {
		h := handlerOf(t)
		h.life.draining.Store(c.draining)
		w := echotest.Record(newAdmin(h.life, h.metrics), c.path)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: the response is %d %q, want %d %q", name, w.Code, w.Body, c.status, c.body)
		}
		want := http.Header{"Content-Type": {transport.PlainText}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
			"Content-Security-Policy": {exchange.Sandbox}}
		if diff := cmp.Diff(want, w.Header()); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, diff)
		}
		if got := counted(h.metrics.requests, "admin", "HTTP/1.1", "GET", strconv.Itoa(c.status)); got != 1 || h.metrics.inFlight.Load() != 0 {
			t.Errorf("%s: %d are in flight, %d are counted", name, h.metrics.inFlight.Load(), got)
		}
	}
}

// TestNewAdmin_metricsReportCurrentState checks that /metrics reports the current state, and counts its own request as in flight.
func TestNewAdmin_metricsReportCurrentState(t *testing.T) {
	h := handlerOf(t)
	admin := newAdmin(h.life, h.metrics)
	for _, draining := range []float64{0, 1} {
		h.life.draining.Store(draining == 1)
		w := echotest.Record(admin, "/metrics")
		read := families(t, w.Body.String())
		if got := values(read["echo_draining"])[""]; got != draining {
			t.Errorf("draining is %g, want %g", got, draining)
		}
		if got := values(read["echo_http_requests_in_flight"])[""]; got != 1 {
			t.Errorf("%g requests are in flight", got)
		}
		if got := values(read["echo_http_requests_total"])["code=200,listener=admin,method=GET,proto=HTTP/1.1"]; got != draining {
			t.Errorf("%g earlier requests are counted, want %g", got, draining)
		}
		if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4; charset=utf-8") {
			t.Errorf("the type is %s", got)
		}
	}
}

func TestNewAdmin_logsNothing(t *testing.T) {
	h, log := loggedHandler(t)
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/other"} {
		echotest.Record(newAdmin(h.life, h.metrics), path)
	}
	if got := log.String(); got != "" {
		t.Errorf("the log is %s", got)
	}
}

// TestNewAdmin_acceptsAnyMethod checks that probes may use any method, and that responses to HEAD requests have no body.
func TestNewAdmin_acceptsAnyMethod(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, newAdmin(h.life, h.metrics))
	for proto, client := range echotest.Clients(t) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			got := echotest.Send(t, client, method, server.URL+"/readyz", "")
			want := "ok\n"
			if method == http.MethodHead {
				want = ""
			}
			if got.StatusCode != http.StatusOK || got.Text != want {
				t.Errorf("%s %s: the response is %d %q", proto, method, got.StatusCode, got.Text)
			}
		}
	}
	w := httptest.NewRecorder()
	newAdmin(h.life, h.metrics).ServeHTTP(w, httptest.NewRequest("BREW", "/livez", http.NoBody))
	if got := counted(h.metrics.requests, "admin", "HTTP/1.1", "other", "200"); got != 1 {
		t.Errorf("an unknown method is counted as %v", series(t, h.metrics, "echo_http_requests_total"))
	}
}

// TestHandler_releasesReservedBytes checks that requests over both protocols release all bytes that they reserve.
func TestHandler_releasesReservedBytes(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for _, client := range echotest.Clients(t) {
		for _, size := range []int{0, 10_000, exchange.MaxShown, 200_000, exchange.MaxBody + 1} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?echo.delay=1ms",
				strings.NewReader(echotest.Payload(size)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Long", strings.Repeat("x", 20_000))
			if response, err := client.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}
		client.CloseIdleConnections()
	}
	echotest.Until(t, "all bytes are released", func() bool {
		return h.budget.Requests.Used.Load() == 0 && h.budget.Connections.Used.Load() == 0
	})
}

// TestExhausted checks the responses to requests when the budget is nearly used up. Ordinary requests must not be rejected.
func TestExhausted(t *testing.T) {
	h := handlerOf(t)
	h.budget.Requests.Acquire(h.budget.Requests.Limit - 1000)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for path, body := range map[string]string{"/": echotest.Payload(20_000), "/?echo.delay=1ms": "", "/-/sse": ""} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			got := echotest.Send(t, client, method, server.URL+path, body)
			if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" ||
				!strings.Contains(got.Text, transport.OverBudget) {
				t.Errorf("%s %s: the response is %d %v %q", proto, path, got.StatusCode, got.Header, got.Text)
			}
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL, echotest.Payload(1000)); got.StatusCode != http.StatusOK {
			t.Errorf("%s: an ordinary request has the response %d", proto, got.StatusCode)
		}
	}
	if got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, server.URL, "", "X-Long",
		strings.Repeat("x", 20_000)); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a long header has the response %d", got.StatusCode)
	}
	if counted(h.metrics.rejected, transport.LimitMemory) < 6 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_rejected_total"))
	}
}
