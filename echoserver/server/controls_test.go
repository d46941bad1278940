package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestRespond_appliesControls(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		target  string
		headers []string
		status  int
		applied string
		want    map[string]string // the expected headers; an empty value means that the header must be missing
	}{
		"none":                  {nil, "/?echo=1&xecho.status=500", nil, 200, "", nil},
		"status by query":       {nil, "/?echo.status=503", nil, 503, "status=503", nil},
		"status by header":      {nil, "/", []string{"X-Echo-Status", "418"}, 418, "status=418", nil},
		"the query goes first":  {nil, "/?echo.status=503", []string{"X-Echo-Status", "418"}, 503, "status=503", nil},
		"a malformed parameter": {nil, "/?x=%zz&echo.status=503&y=1;2", nil, 503, "status=503", nil},
		"an escaped name":       {nil, "/?%65cho%2Estatus=503", nil, 503, "status=503", nil},
		"lowest and highest":    {nil, "/?echo.status=599&echo.size=0", nil, 599, "status=599, size=0", nil},
		"headers by query": {nil, "/?echo.set-header=x-a:1,2&echo.set-header=x-b:%202", nil, 200, "set-header=X-A, set-header=X-B",
			map[string]string{"X-A": "1,2", "X-B": "2"}},
		"headers by header": {nil, "/", []string{"X-Echo-Set-Header", "x-a:1, X-B: 2", "X-Echo-Set-Header", "X-C:a,b"}, 200,
			"set-header=X-A, set-header=X-B, set-header=X-C", map[string]string{"X-A": "1", "X-B": "2", "X-C": "a,b"}},
		"a content type": {nil, "/?echo.set-header=Content-Type:text/plain%3Bcharset=utf-8", nil, 200, "set-header=Content-Type",
			map[string]string{"Content-Type": "text/plain;charset=utf-8"}},
		"format by query": {nil, "/?echo.format=text", nil, 200, "format=text",
			map[string]string{"Content-Type": transport.PlainText}},
		"format by header": {nil, "/", []string{"X-Echo-Format", "html"}, 200, "format=html",
			map[string]string{"Content-Type": describe.PageType}},
		"default status":              {[]string{"ECHO_RESPONSE_STATUS=503"}, "/", nil, 503, "status=503", nil},
		"a request against a default": {[]string{"ECHO_RESPONSE_STATUS=503"}, "/?echo.status=200", nil, 200, "status=200", nil},
		"default headers": {[]string{`ECHO_RESPONSE_HEADERS=[{"name":"retry-after","value":"7"},{"name":"Set-Cookie","value":"a=b"}]`}, "/", nil,
			200, "set-header=retry-after, set-header=Set-Cookie", map[string]string{"Retry-After": "7", "Set-Cookie": "a=b"}},
		"a header against a default": {[]string{`ECHO_RESPONSE_HEADERS=[{"name":"retry-after","value":"7"},{"name":"X-A","value":"b"}]`},
			"/?echo.set-header=Retry-After:8", nil, 200, "set-header=X-A, set-header=Retry-After",
			map[string]string{"Retry-After": "8", "X-A": "b"}},
		"a fixed body": {[]string{"ECHO_RESPONSE_BODY=gone"}, "/?echo.format=html", nil, 200, "format=html, body=fixed",
			map[string]string{"Content-Type": transport.PlainText}},
		"a fixed page": {[]string{"ECHO_RESPONSE_BODY=<b>", `ECHO_RESPONSE_HEADERS=[{"name":"Content-Type","value":"text/html"}]`}, "/", nil, 200,
			"set-header=Content-Type, body=fixed", map[string]string{"Content-Type": "text/html", "Content-Security-Policy": exchange.Sandbox}},
	} {
		w := echotest.Record(handlerOf(t, c.environ...), c.target, c.headers...)
		if w.Code != c.status || w.Header().Get("X-Echo-Applied") != c.applied {
			t.Errorf("%s: responded %d with %q, want %d with %q", name, w.Code, w.Header().Get("X-Echo-Applied"), c.status, c.applied)
		}
		for header, value := range c.want {
			if got := w.Header().Values(header); len(got) != 1 || got[0] != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
	}
}

func TestEcho_rejectsInvalidControls(t *testing.T) {
	h := handlerOf(t)
	for target, why := range map[string]string{
		"/?echo.status=199":                     `echo.status: "199" is not a whole number from 200 to 599`,
		"/?echo.status=600":                     "echo.status: ",
		"/?echo.status=":                        "echo.status: ",
		"/?echo.status=200&echo.status=201":     "echo.status: specified more than once",
		"/?echo.delay=31s":                      `echo.delay: "31s" is not a duration from 0s to 30s, such as 500ms`,
		"/?echo.delay=-1s":                      "echo.delay: ",
		"/?echo.delay=2s-1s":                    `"2s-1s" is neither a duration from 0s to 30s nor a range such as 100ms-2s`,
		"/?echo.delay=1s-31s":                   "echo.delay: ",
		"/?echo.delay=1s-":                      "echo.delay: ",
		"/?echo.delay=1s-2s-3s":                 "echo.delay: ",
		"/?echo.percentage=0&echo.status=503":   `echo.percentage: "0" is not a whole number from 1 to 100`,
		"/?echo.percentage=101&echo.status=503": "echo.percentage: ",
		"/?echo.percentage=30":                  "percentage requires another control, such as status=503",
		"/?echo.failures=0":                     "echo.failures: ",
		"/?echo.failures=1001":                  `echo.failures: "1001" is not a whole number from 1 to 1000`,
		"/?echo.connection=reset":               "on a private network, spec.server.controls: Full (ECHO_CONTROLS=Full) allows it",
		"/?echo.status=407": "407 requests a login; on a private network, spec.server.controls: Full " +
			"(ECHO_CONTROLS=Full) allows it",
		"/?echo.delay=5":       "echo.delay: ",
		"/?echo.size=16777217": `echo.size: "16777217" is not a whole number of bytes from 0 to 16777216`,
		"/?echo.size=-1":       "echo.size: ",
		"/?echo.format=xml":    `echo.format: "xml" is not json, text, or html`,
		"/?echo.stauts=200":    "echo.stauts: unknown control: the controls are status, delay, set-header, ",
		"/?echo.set-header=content-type:text/plain;a=b": "the query has controls but cannot be parsed",
		"/?echo.body=x":                                   "echo.body: unknown control",
		"/?echo.set-header=nothing":                       `echo.set-header: "nothing" is not a header such as X-Color: blue`,
		"/?echo.set-header=a%20b:1":                       `"a b" is not a header name`,
		"/?echo.set-header=X-A:1%0d%0aX-B:2":              "the value of X-A contains a control character",
		"/?echo.set-header=content-type:text/html":        `the Content-Type "text/html" is not one of application/json, `,
		"/?echo.set-header=content-type:image/svg%2Bxml":  "is not one of",
		"/?echo.set-header=content-type:application/xml":  "is not one of",
		"/?echo.set-header=content-type:text/plain%3Bx=y": "is not one of",
	} {
		w := echotest.Record(h, target)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), why) || w.Header().Get("Content-Type") != transport.PlainText {
			t.Errorf("%s gets %d %q, want 400 with %q", target, w.Code, w.Body, why)
		}
	}
	if w := echotest.Record(h, "/", "X-Echo-Delay", "soon"); w.Code != http.StatusBadRequest ||
		!strings.Contains(w.Body.String(), "X-Echo-Delay: ") {
		t.Errorf("a bad header gets %d %q", w.Code, w.Body)
	}
	// A control among 10,000 parameters applies, but the response does not show that many parsed parameters.
	if w := echotest.Record(h, "/?"+strings.Repeat("a=1&", 9999)+"echo.status=503"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("with 10,000 parameters it gets %d", w.Code)
	}
	if w := echotest.Record(h, "/?"+strings.Repeat("a=%20&", 9999)); w.Code != http.StatusOK ||
		decode(t, w.Body.String()).Request.Query != nil {
		t.Errorf("with 10,000 parameters it gets %d", w.Code)
	}
}

func TestContent_hasRequestedSize(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for _, size := range []string{"0", "1", "65537", "16777216"} {
			got := echotest.Send(t, client, http.MethodGet, server.URL+"/?echo.size="+size, "")
			if got.Header.Get("Content-Length") != size || got.ContentLength != int64(len(got.Text)) {
				t.Errorf("%s: %s bytes are announced as %s and come as %d", proto, size, got.Header.Get("Content-Length"), len(got.Text))
			}
		}
	}
}

func TestContent_sendsNoBodyForBodylessStatus(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for _, path := range []string{"/?echo.status=204", "/?echo.status=205", "/?echo.status=304", "/?echo.status=304&echo.size=100"} {
			if got := echotest.Send(t, client, http.MethodGet, server.URL+path, ""); got.Text != "" || got.Header.Get("Content-Type") != "" {
				t.Errorf("%s %s: %q of type %q", proto, path, got.Text, got.Header.Get("Content-Type"))
			}
		}
	}
}

// TestDelay_abortsHalfClosedConnection closes the client's side of the connection during the delay. The client must then get no response,
// which is better than an empty one.
func TestDelay_abortsHalfClosedConnection(t *testing.T) {
	h := handlerOf(t)
	connection := echotest.Dial(t, serve(t, h).URL)
	if _, err := io.WriteString(connection, "GET /?echo.delay=30s HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	echotest.Until(t, "it waits", func() bool { return h.delays.Waiting.Load() == 1 })
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(connection); err != nil || len(got) > 0 {
		t.Errorf("answered %q, %v", got, err)
	}
	echotest.Until(t, "it is counted", func() bool {
		return counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "499") == 1
	})
}

func TestEcho_rejectsInvalidConnectionControls(t *testing.T) {
	h := handlerOf(t, "ECHO_CONTROLS=Full")
	for target, why := range map[string]string{
		"/?echo.connection=close":                 `echo.connection: "close" is neither reset nor truncate`,
		"/?echo.connection=reset&echo.status=503": "connection reset sends no response, so it cannot be combined with status",
	} {
		if w := echotest.Record(h, target); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), why) {
			t.Errorf("%s: the response is %d %q, want 400 with %q", target, w.Code, w.Body, why)
		}
	}
}

// TestRespond_reportsAppliedControlsEverywhere checks that the header and body of a response, and the metrics, report the same controls.
func TestRespond_reportsAppliedControlsEverywhere(t *testing.T) {
	h := handlerOf(t)
	w := echotest.Record(h, "/?echo.status=418&echo.delay=1ms&echo.set-header=X-A:1&echo.set-header=X-B:2&echo.format=json")
	if got, want := w.Header().Get("X-Echo-Applied"), "status=418, delay=1ms, set-header=X-A, set-header=X-B, format=json"; got != want {
		t.Errorf("the header is %q, want %q", got, want)
	}
	want := map[string]any{"status": 418.0, "delay": "1ms", "setHeader": []any{"X-A", "X-B"}, "format": "json"}
	if diff := cmp.Diff(want, decode(t, w.Body.String()).Applied); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	counted := map[string]float64{"control=status": 1, "control=delay": 1, "control=set-header": 2, "control=format": 1}
	if diff := cmp.Diff(counted, series(t, h.metrics, "echo_controls_total")); diff != "" {
		t.Errorf("the metrics (-want +got):\n%s", diff)
	}
}

// TestRespond_omitsAppliedWithoutControls checks that a response reports no controls if no control changed it.
func TestRespond_omitsAppliedWithoutControls(t *testing.T) {
	h := handlerOf(t)
	for name, target := range map[string]string{"no control": "/", "a parameter without the prefix": "/?status=503",
		"a refused control":                "/?echo.status=1",
		"a refused control and a good one": "/?echo.status=503&echo.size=-1", "a reserved path": "/-/livez?echo.status=503"} {
		w := echotest.Record(h, target)
		if values := w.Header().Values("X-Echo-Applied"); len(values) > 0 || strings.Contains(w.Body.String(), `"applied"`) {
			t.Errorf("%s: the header is %q, the body %s", name, values, w.Body)
		}
	}
	if counted := series(t, h.metrics, "echo_controls_total"); len(counted) > 0 {
		t.Errorf("counted are %v", counted)
	}
}
