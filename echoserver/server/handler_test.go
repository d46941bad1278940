package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestDelay measures delays with synctest's fake clock.
func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		target  string
		want    time.Duration
	}{
		"none":                 {nil, "/", 0},
		"the longest":          {nil, "/?echo.delay=30s", 30 * time.Second},
		"no default after all": {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/?echo.delay=0s", 0},
		"a refused request":    {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/?echo.status=1", 0},
		"a health check":       {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/-/readyz", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t, c.environ...)
			began := time.Now()
			echotest.Record(h, c.target)
			if took := time.Since(began); took != c.want || h.delays.Waiting.Load() != 0 {
				t.Errorf("%s: responded after %s, want %s; %d wait", name, took, c.want, h.delays.Waiting.Load())
			}
			if sum := totalDuration(t, h.metrics); sum != c.want.Seconds() {
				t.Errorf("%s: the metrics report %g s", name, sum)
			}
		})
	}
}

// TestDelay_abortsCanceledRequest cancels a request while its response is delayed. The request must be logged and counted with status 499.
func TestDelay_abortsCanceledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := loggedHandler(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if got := recover(); !isAbort(got) {
					t.Errorf("it ends with the panic %v", got)
				}
			}()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?echo.delay=30s", http.NoBody).WithContext(ctx))
		}()
		if w.Body.Len() > 0 || h.delays.Waiting.Load() != 0 || h.metrics.inFlight.Load() != 0 {
			t.Errorf("the body is %q; %d wait, %d are in flight", w.Body, h.delays.Waiting.Load(), h.metrics.inFlight.Load())
		}
		if counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "499") != 1 || totalDuration(t, h.metrics) != 3 {
			t.Errorf("the counts are %v, in %g s", series(t, h.metrics, "echo_http_requests_total"), totalDuration(t, h.metrics))
		}
		if !strings.Contains(log.String(), `"status":499,"bytes":0,`) || !strings.Contains(log.String(), `"nanoseconds":3000000000}`) {
			t.Errorf("the log is %s", log)
		}
	})
}

// TestHandler_closesConnectionsWhileDraining checks that only responses after the signal to stop ask clients to close their connections.
func TestHandler_closesConnectionsWhileDraining(t *testing.T) {
	for _, path := range []string{"/", "/?echo.status=1", "/-/livez", "/-/readyz", "/-/ws", "/-/other"} {
		h := handlerOf(t)
		if got := echotest.Record(h, path).Header().Values("Connection"); len(got) > 0 {
			t.Errorf("%s: before the signal Connection is %q", path, got)
		}
		h.life.draining.Store(true)
		w := echotest.Record(h, path)
		if got := w.Header().Get("Connection"); got != "close" {
			t.Errorf("%s: while draining Connection is %q", path, got)
		}
		if isReadyz := path == "/-/readyz"; isReadyz != (w.Body.String() == "draining\n") ||
			isReadyz != (w.Code == http.StatusServiceUnavailable) || path == "/" && !decode(t, w.Body.String()).Server.Draining {
			t.Errorf("%s: while draining the response is %d %q", path, w.Code, w.Body)
		}
	}
}

// TestHandler_reportsOnlyFirstError sends requests with several errors. The response names only the first.
func TestHandler_reportsOnlyFirstError(t *testing.T) {
	for name, c := range map[string]struct {
		method, target string
		body           io.Reader
		status         int
	}{
		"a large body before a control": {http.MethodPost, "/?echo.status=1", strings.NewReader(echotest.Payload(exchange.MaxBody + 1)),
			http.StatusRequestEntityTooLarge},
		"a control before a delay": {http.MethodPost, "/?echo.status=1&echo.delay=1h", strings.NewReader("x"),
			http.StatusBadRequest},
		"CONNECT": {http.MethodConnect, "/", http.NoBody, http.StatusMethodNotAllowed},
		"CONNECT before a large body": {http.MethodConnect, "example.com:80",
			strings.NewReader(echotest.Payload(exchange.MaxBody + 1)), http.StatusMethodNotAllowed},
		"CONNECT to a stream":                  {http.MethodConnect, "/-/body", strings.NewReader("x"), http.StatusMethodNotAllowed},
		"a reserved path without its controls": {http.MethodPost, "/-/other?echo.status=503", strings.NewReader("x"), http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		handlerOf(t).ServeHTTP(w, httptest.NewRequest(c.method, c.target, c.body))
		if w.Code != c.status {
			t.Errorf("%s: the status is %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		if refused := c.status != http.StatusServiceUnavailable; refused && (!strings.HasPrefix(w.Body.String(), "echo-server: ") ||
			strings.Count(w.Body.String(), "\n") != 1 || w.Header().Get("Content-Type") != transport.PlainText) {
			t.Errorf("%s: the reason is not one line of text: %q", name, w.Body)
		}
	}
}

// TestRespond_replacesDefaultHeaders sets headers that the server also sets, some of them several times.
func TestRespond_replacesDefaultHeaders(t *testing.T) {
	own := controls.Full.Vary()
	h := handlerOf(t, "ECHO_CONTROLS=Full",
		`ECHO_RESPONSE_HEADERS=[{"name":"cache-control","value":"max-age=60"},{"name":"vary","value":"A"},{"name":"Vary","value":"B"}]`)
	for name, c := range map[string]struct {
		target, header string
		want           []string
	}{
		"a default instead of the server's own":    {"/", "Cache-Control", []string{"max-age=60"}},
		"a request's instead of the default":       {"/?echo.set-header=CACHE-CONTROL:private", "Cache-Control", []string{"private"}},
		"two defaults of one name":                 {"/", "Vary", []string{own + ",A,B"}},
		"two of a request instead of the defaults": {"/?echo.set-header=vary:C&echo.set-header=Vary:D", "Vary", []string{own + ",C,D"}},
		"a type instead of the format's": {"/?echo.format=text&echo.set-header=content-type:text/csv", "Content-Type",
			[]string{"text/csv"}},
		"an empty value":                          {"/?echo.set-header=X-A:", "X-A", []string{""}},
		"a policy that no request can set":        {"/?echo.format=json", "Content-Security-Policy", []string{exchange.Sandbox}},
		"no default of a cache next to a control": {"/?echo.status=503", "Cache-Control", []string{"no-store"}},
	} {
		if got := echotest.Record(h, c.target).Header().Values(c.header); strings.Join(got, "|") != strings.Join(c.want, "|") ||
			len(got) != len(c.want) {
			t.Errorf("%s: %s is %q, want %q", name, c.header, got, c.want)
		}
	}
}

// TestRoutedPath checks that only some routes exist under a prefix, and that an escaped slash is not a separator, no matter how many times it
// is escaped. Other escapes are decoded.
func TestRoutedPath(t *testing.T) {
	for target, want := range map[string]string{
		"/-/livez":              "/-/livez",
		"/%2D/livez":            "/-/livez", // an unnecessary escape (RFC 3986, 6.2.2.2)
		"/-/body":               "/-/body",
		"/shop/-/body":          "/-/body",
		"/-/%62od%79":           "/-/body",
		"/a%2Fb/-/body":         "/-/body",
		"http://a/b/-/body":     "/-/body", // as sent to a proxy
		"/a%2F/-/ws":            "/-/ws",
		"/-/sse":                "/-/sse",
		"/a%252Fb/-/sse":        "/-/sse",
		"/-/arrivals":           "/-/arrivals",
		"/-/":                   "/-/",
		"/-/ws/":                "/-/ws/",
		"/-/livez/":             "/-/livez/",
		"/-/%2Fbody":            "/-/%2Fbody",
		"*":                     "",
		"/":                     "",
		"/shop/-/ws/x":          "",
		"/shop/-/other":         "",
		"/shop/-/livez":         "",
		"/a%2F-%2Fbody":         "", // a segment that contains slashes, such as a project path in the GitLab API
		"/a%2F-/body":           "",
		"/-%2Flivez":            "",
		"/a%252F-%252Fbody":     "",
		"/a%2F-%2Fbody?b=/-/ws": "",
	} {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := routeOf(routedPath(parsed)); got != want {
			t.Errorf("the route of %q is %q, want %q", target, got, want)
		}
	}
}
