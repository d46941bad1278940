package server

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
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

// TestEcho_rejectsSettingForbiddenHeaders tries to set each forbidden header in several spellings, by query parameter and by header. It
// also tries connection headers as default headers.
func TestEcho_rejectsSettingForbiddenHeaders(t *testing.T) {
	const framing, trust = "it belongs to the connection", "cannot be set by a request"
	for name, why := range map[string]string{
		"Connection": framing, "Content-Length": framing, "Keep-Alive": framing, "Proxy-Authenticate": framing, "Proxy-Authorization": framing,
		"Proxy-Connection": framing, "TE": framing, "Trailer": framing, "Transfer-Encoding": framing, "Upgrade": framing,
		"Alt-Svc": trust, "Clear-Site-Data": trust, "Content-Security-Policy": trust, "Content-Security-Policy-Report-Only": trust, "NEL": trust,
		"Report-To": trust, "Reporting-Endpoints": trust, "Service-Worker-Allowed": trust, "Set-Cookie": trust, "Set-Cookie2": trust,
		"Strict-Transport-Security": trust, "Timing-Allow-Origin": trust, "X-Content-Type-Options": trust, "X-Echo-Applied": trust,
		"Access-Control-Allow-Origin": trust, "Access-Control-Allow-Credentials": trust, "Access-Control-Anything": trust,
		"Cross-Origin-Opener-Policy": trust, "Cross-Origin-Resource-Policy": trust,
	} {
		h := handlerOf(t)
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name), " " + name + " "} {
			byQuery := echotest.Record(h, "/?echo.set-header=X-A:1&echo.set-header="+url.QueryEscape(spelling+": 1"))
			byHeader := echotest.Record(h, "/", "X-Echo-Set-Header", "X-A: 1,"+spelling+": 1")
			for way, w := range map[string]string{"query": byQuery.Body.String(), "header": byHeader.Body.String()} {
				if !strings.Contains(w, http.CanonicalHeaderKey(name)+" cannot be set") || !strings.Contains(w, why) {
					t.Errorf("%q by %s gets %q", spelling, way, w)
				}
			}
			if byQuery.Code != http.StatusBadRequest || byHeader.Code != http.StatusBadRequest ||
				byQuery.Header().Get("X-A")+byHeader.Header().Get("X-A") != "" {
				t.Errorf("%q gets %d and %d with %v", spelling, byQuery.Code, byHeader.Code, byQuery.Header())
			}
		}
		headers, err := controls.ParseDefaultHeaders(`[{"name":"` + strings.ToLower(name) + `","value":"1"}]`)
		if isFraming := why == framing; (err != nil) != isFraming || (len(headers) == 1) == isFraming {
			t.Errorf("%s as a default: %v, %v", name, headers, err)
		}
	}
}

// TestRespond_setsHeadersResemblingForbiddenOnes sets headers whose names resemble the names of rejected headers.
func TestRespond_setsHeadersResemblingForbiddenOnes(t *testing.T) {
	h := handlerOf(t, "ECHO_CONTROLS=Full")
	for _, name := range []string{"Connections", "X-Connection", "Content-Lengths", "Set-Cookie3", "X-Set-Cookie", "Access-Control",
		"X-Access-Control-Allow-Origin", "Cross-Origin", "Keep", "Retry-After", "Location", "Server", "Content-Language", "X-Echo-Status",
		"Www-Authenticate"} {
		w := echotest.Record(h, "/?echo.set-header="+name+":1")
		if w.Code != http.StatusOK || w.Header().Get(name) != "1" {
			t.Errorf("%s gets %d with %q: %s", name, w.Code, w.Header().Get(name), w.Body)
		}
	}
}

// TestEcho_setsConformanceHeadersOnlyUnderFull sets the headers that the Gateway API conformance suite sets. The Safe policy must reject
// them, and the error must name the setting that allows them.
func TestEcho_setsConformanceHeadersOnlyUnderFull(t *testing.T) {
	for _, name := range []string{"Header-Add", "Some-Other-Header", "Another-Header", "X-Header-Set", "X-Header-Add", "X-Header-Remove",
		"X-Header-Set-2", "X-Header-Add-2", "X-Header-Remove-1", "X-Header-Echo", "x-header-set"} {
		safe := echotest.Record(handlerOf(t), "/", "X-Echo-Set-Header", name+":val")
		if safe.Code != http.StatusBadRequest || !strings.Contains(safe.Body.String(), "spec.server.controls: Full") {
			t.Errorf("%s under Safe gets %d %s", name, safe.Code, safe.Body)
		}
		full := echotest.Record(handlerOf(t, "ECHO_CONTROLS=Full"), "/", "X-Echo-Set-Header", name+":val")
		if full.Code != http.StatusOK || full.Header().Get(name) != "val" {
			t.Errorf("%s under Full gets %d, %q", name, full.Code, full.Header().Get(name))
		}
	}
}

// TestEcho_acceptsEmptyHeaderLists sends empty header lists, as the client of the Gateway API conformance suite does in most requests.
func TestEcho_acceptsEmptyHeaderLists(t *testing.T) {
	for _, policy := range []string{"Safe", "Full", "None"} {
		h := handlerOf(t, "ECHO_CONTROLS="+policy)
		for _, list := range []string{"", ",", " , ,\t", ",,,,"} {
			if w := echotest.Record(h, "/", "X-Echo-Set-Header", list, "X-Echo-Set-Header", list); w.Code != http.StatusOK ||
				w.Header().Get("X-Echo-Applied") != "" {
				t.Errorf("%q under %s gets %d %s", list, policy, w.Code, w.Body)
			}
		}
	}
	if w := echotest.Record(handlerOf(t), "/?echo.set-header="); w.Code != http.StatusBadRequest {
		t.Errorf("an empty parameter gets %d", w.Code)
	}
	if w := echotest.Record(handlerOf(t), "/", "X-Echo-Set-Header", "", "X-Echo-Set-Header", "nothing"); w.Code != http.StatusBadRequest {
		t.Errorf("the response to a list with an element that is not a header is %d", w.Code)
	}
}

func TestEcho_followsControlsPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		policy, target string
		status         int
		want           map[string]string
	}{
		"Safe: a login of a proxy":   {"Safe", "/?echo.status=407", 400, nil},
		"Safe: a login of a network": {"Safe", "/?echo.status=511", 400, nil},
		"Safe: unauthorized":         {"Safe", "/?echo.status=401", 401, map[string]string{"Www-Authenticate": ""}},
		"Safe: a local redirect":     {"Safe", "/?echo.status=301&echo.set-header=Location:/a", 301, map[string]string{"Location": "/a"}},
		"Full: a login of a proxy":   {"Full", "/?echo.status=407", 407, nil},
		"Full: a redirect to elsewhere": {"Full", "/?echo.status=301&echo.set-header=Location:https://example.org/", 301,
			map[string]string{"Location": "https://example.org/"}},
		"Full: an instruction":     {"Full", "/?echo.set-header=X-Accel-Redirect:/a", 200, map[string]string{"X-Accel-Redirect": "/a"}},
		"Full: a cookie":           {"Full", "/?echo.set-header=Set-Cookie:a=b", 400, map[string]string{"Set-Cookie": ""}},
		"Full: a cache":            {"Full", "/?echo.set-header=Cache-Control:max-age=60", 200, map[string]string{"Cache-Control": "max-age=60"}},
		"None: a status":           {"None", "/?echo.status=503", 200, map[string]string{"X-Echo-Applied": ""}},
		"None: an invalid control": {"None", "/?echo.status=x&echo.nonsense=1&echo.set-header=A;b", 200, nil},
		"None: a format":           {"None", "/?echo.format=text", 200, map[string]string{"Content-Type": "application/json"}},
		"None: a header":           {"None", "/?echo.set-header=X-A:1", 200, map[string]string{"X-A": ""}},
		"None: a connection":       {"None", "/?echo.connection=truncate", 200, nil},
	} {
		w := echotest.Record(handlerOf(t, "ECHO_CONTROLS="+c.policy), c.target)
		if w.Code != c.status {
			t.Errorf("%s: responded %d %s", name, w.Code, w.Body)
		}
		for header, value := range c.want {
			if got := w.Header().Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
	}
	w := echotest.Record(handlerOf(t, "ECHO_CONTROLS=None"), "/?echo.status=503", "X-Echo-Status", "418")
	if got := decode(t, w.Body.String()); w.Code != 200 || got.Headers["X-Echo-Status"][0] != "418" ||
		got.Request.Query["echo.status"][0] != "503" || got.Applied != nil {
		t.Errorf("without controls, the response is %d %s", w.Code, w.Body)
	}
}

// TestRespond_preventsCachingIfControlled sends requests to a server whose default headers let caches store its responses.
func TestRespond_preventsCachingIfControlled(t *testing.T) {
	const own = `ECHO_RESPONSE_HEADERS=[{"name":"cache-control","value":"max-age=60"},{"name":"Surrogate-Control","value":"max-age=60"},` +
		`{"name":"X-B","value":"1"}]`
	for name, c := range map[string]struct {
		environ []string
		target  string
		headers []string
		cached  bool
	}{
		"no control":                        {nil, "/", nil, true},
		"a parameter that is no control":    {nil, "/?status=503", nil, true},
		"a control":                         {nil, "/?echo.status=404", nil, false},
		"a control by a header":             {nil, "/", []string{"X-Echo-Format", "text"}, false},
		"a control that does not apply":     {nil, "/?echo.percentage=1&echo.status=503", nil, false},
		"a control under Full":              {[]string{"ECHO_CONTROLS=Full"}, "/?echo.status=404", nil, false},
		"a control that is off":             {[]string{"ECHO_CONTROLS=None"}, "/?echo.status=404", nil, true},
		"a control that is refused":         {nil, "/?echo.status=1", nil, false},
		"a fault of the settings":           {[]string{`ECHO_RESPONSE_FAULTS=[{"statusCode":503}]`}, "/", nil, true},
		"a control next to a default fault": {[]string{`ECHO_RESPONSE_FAULTS=[{"statusCode":503}]`}, "/?echo.format=text", nil, false},
	} {
		h := handlerOf(t, append(c.environ, own)...)
		h.chooser.Random = func(int64) int64 { return 99 }
		header := echotest.Record(h, c.target, c.headers...).Header()
		want := []string{"no-store", ""}
		if c.cached {
			want = []string{"max-age=60", "max-age=60"}
		}
		if got := []string{header.Get("Cache-Control"), header.Get("Surrogate-Control")}; !slices.Equal(got, want) {
			t.Errorf("%s: Cache-Control and Surrogate-Control are %q, want %q", name, got, want)
		}
	}
	h := handlerOf(t, own)
	if got := echotest.Record(h, "/?echo.status=404").Header(); got.Get("X-B") != "1" ||
		got.Get("X-Echo-Applied") != "status=404, set-header=X-B" {
		t.Errorf("the other header of the settings is missing: %v", got)
	}
	if len(h.response.Headers) != 3 {
		t.Errorf("a request changes the settings: %v", h.response.Headers)
	}
}

// TestEcho_varyListsControlHeaders checks that Vary lists each request header that controls the response, so that caches do not serve the
// response for other requests.
func TestEcho_varyListsControlHeaders(t *testing.T) {
	h := handlerOf(t, `ECHO_RESPONSE_HEADERS=[{"name":"vary","value":"Cookie"}]`)
	for _, target := range []string{"/", "/?echo.status=503", "/?echo.status=1"} {
		if listed := strings.Join(echotest.Record(h, target).Header().Values("Vary"), ","); !strings.HasPrefix(listed, controls.Safe.Vary()) {
			t.Errorf("%s: Vary is %q", target, listed)
		}
	}
	if got := echotest.Record(handlerOf(t, "ECHO_CONTROLS=None"), "/").Header().Values("Vary"); len(got) != 1 || got[0] != "Accept" {
		t.Errorf("without controls Vary is %q", got)
	}
}

func TestEcho_limitsRequestedHeaders(t *testing.T) {
	h := handlerOf(t)
	many := func(n int, separator string) string {
		return strings.TrimSuffix(strings.Repeat("X-A:1"+separator, n), separator)
	}
	for name, c := range map[string]struct {
		target string
		list   string
		ok     bool
	}{
		"32 by header":               {"/", many(32, ","), true},
		"33 by header":               {"/", many(33, ","), false},
		"33 by query":                {"/?" + strings.Repeat("echo.set-header=X-A:1&", 33), "", false},
		"32 of both":                 {"/?" + strings.Repeat("echo.set-header=X-B:1&", 16), many(16, ","), true},
		"33 of both":                 {"/?" + strings.Repeat("echo.set-header=X-B:1&", 16), many(17, ","), false},
		"8 KiB":                      {"/", "X-A:" + strings.Repeat("x", 8<<10-4), true},
		"more than 8 KiB":            {"/", "X-A:" + strings.Repeat("x", 8<<10-3), false},
		"more than 8 KiB of both":    {"/?echo.set-header=X-B:" + strings.Repeat("x", 4<<10), "X-A:" + strings.Repeat("x", 4<<10), false},
		"60 KiB of commas":           {"/", "A:b" + strings.Repeat(",", 60<<10), false},
		"60 KiB of colons":           {"/", "A:b" + strings.Repeat(":", 60<<10), false},
		"4 KiB of commas in a value": {"/", "X-A:b" + strings.Repeat(",", 4<<10), true},
	} {
		var headers []string
		if c.list != "" {
			headers = []string{"X-Echo-Set-Header", c.list}
		}
		w := echotest.Record(h, c.target, headers...)
		if c.ok != (w.Code == http.StatusOK) ||
			!c.ok && !strings.Contains(w.Body.String(), "a request can set up to 32 headers with a total of 8192 bytes") {
			t.Errorf("%s: responded %d %.200s", name, w.Code, w.Body)
		}
	}
}

// TestEcho_rejectsWithShortReason sends 60 KiB values, which the error responses must not repeat.
func TestEcho_rejectsWithShortReason(t *testing.T) {
	h, long := handlerOf(t), strings.Repeat("\x01", 20<<10)
	for _, query := range []url.Values{{"echo.status": {long}}, {"echo.delay": {long}}, {"echo.delay": {"1s-" + long}}, {"echo.size": {long}},
		{"echo.format": {long}}, {"echo." + long: {"1"}}, {"echo.percentage": {long}}, {"echo.connection": {long}},
		{"echo.set-header": {long[:8000]}}, {"echo.set-header": {long[:8000] + ":1"}}, {"echo.set-header": {strings.Repeat("A", 8000) + ":1"}},
		{"echo.set-header": {strings.Repeat("A", 8000) + ":\x01"}}, {"echo.set-header": {"Location:/" + strings.Repeat("é", 4000)}},
		{"echo.set-header": {"Content-Type:" + strings.Repeat("é", 4000)}}} {
		w := echotest.Record(h, "/?"+query.Encode())
		if w.Code != http.StatusBadRequest || w.Body.Len() > 1000 || w.Header().Get("Content-Type") != transport.PlainText ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the response is %d with %d bytes: %.300s", w.Code, w.Body.Len(), w.Body)
		}
	}
}

// TestChooser_allocatesNothingForPlainRequests checks that looking for controls in a request without controls allocates no memory.
func TestChooser_allocatesNothingForPlainRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	h := handlerOf(t, "POD_NAME=p")
	r := httptest.NewRequest(http.MethodGet, "/shop?color=blue", http.NoBody)
	r.Header = http.Header{"Accept": {"*/*"}, "User-Agent": {"curl"}, "X-Forwarded-For": {"10.0.0.1"}, "X-Request-Id": {"1"},
		"Accept-Encoding": {"gzip"}}
	count := testing.AllocsPerRun(1000, func() {
		desired, err := h.chooser.For(r)
		if err != nil || desired.Applied() != nil {
			t.Errorf("the controls are %v, %v", desired, err)
		}
	})
	if count > 0 {
		t.Errorf("%g allocations", count)
	}
}

// TestEcho_safePolicyRejectsRiskyHeaders sets headers under the default policy. The policy must reject every header that could make a
// proxy, a cache, or a browser affect other clients.
func TestEcho_safePolicyRejectsRiskyHeaders(t *testing.T) {
	h := handlerOf(t)
	for text, allowed := range map[string]bool{
		"X-A: 1": true, "X-Color: blue": true, "X-1: 1": true, "X-Test-Cache-Control: 1": true, "X-Custom-Color: 1": true,
		"X-My-Color: 1":      true,
		"X-Example-A-B-C: 1": true, "Retry-After: 7": true, "Content-Language: de": true, "Content-Type: text/csv": true,
		"Location: /": true, "Location: /shop?a=b#c": true,

		"Cache-Control: max-age=60": false, "Expires: 0": false, "Vary: Cookie": false, "Surrogate-Control: max-age=60": false,
		"Surrogate-Key: a":              false,
		"Cdn-Cache-Control: max-age=60": false, "Cloudflare-CDN-Cache-Control: max-age=60": false, "Edge-Control: cache-maxage=60": false,
		"X-Accel-Redirect: /internal": false, "X-Accel-Expires: 60": false, "X-Sendfile: /etc/passwd": false,
		"X-LIGHTTPD-send-file: /etc/passwd": false,
		"X-Litespeed-Cache-Control: public": false, "X-Litespeed-Location: /": false, "X-Envoy-Immediate-Health-Check-Fail: 1": false,
		"X-Reproxy-Url: http://a/": false, "X-Varnish: 1": false, "X-Esi: 1": false, "X-Ttl: 60": false, "X-Cache: HIT": false,
		"X-Json: alert(1)":        false,
		"X-Middleware-Rewrite: /": false, "X-Nextjs-Redirect: /": false, "X-Vercel-Cache: HIT": false, "X-Amz-Meta-A: 1": false,
		"X-Goog-Hash: 1":        false,
		"X-Robots-Tag: noindex": false, "X-Frame-Options: DENY": false, "X-Dns-Prefetch-Control: on": false, "X-Forwarded-For: 1": false,
		"X-Pjax-Url: /": false, "X-Inertia-Location: /": false, "X-Two-Words: 1": false, "X-: 1": false, "X-A_b: 1": false, "X-A.b: 1": false,
		"X: 1":         false,
		"X-Tests-A: 1": false, "X-Echo-Status: 1": false, "X-Robots: 1": false, "X-Sourcemap: /a": false,
		"Refresh: 0;url=//evil": false, "Www-Authenticate: Basic": false, "Content-Disposition: attachment": false, "Content-Location: /": false,
		"Accept-CH: Width": false, "Link: </a>; rel=preload": false, "Server: a": false, "Age: 0": false, "Etag: 1": false,
		"Content-Encoding: gzip":          false,
		"Location: https://evil.example/": false, "Location: //evil.example/": false, "Location: /a//b": false, `Location: /\evil.example`: false,
		`Location: \\evil`: false, "Location: /\t/evil.example": false, "Location: a": false, "Location: /a b": false, "Location:": false,
		"Location: /é":                  false,
		"Location: javascript:alert(1)": false, "Content-Type: text/html": false, "Set-Cookie: a=b": false,
	} {
		w := echotest.Record(h, "/?echo.set-header="+url.QueryEscape(text))
		byHeader := echotest.Record(h, "/", "X-Echo-Set-Header", text)
		name, value, _ := strings.Cut(text, ":")
		if allowed != (w.Code == http.StatusOK) || allowed != (byHeader.Code == http.StatusOK) {
			t.Errorf("%s gets %d and %d: %s", text, w.Code, byHeader.Code, w.Body)
		}
		got := w.Header().Get(name)
		if allowed && got != strings.TrimSpace(value) || !allowed && got != "" && strings.Contains(value, got) {
			t.Errorf("%s: the header is %q", text, got)
		}
		if cached := w.Header()["Cache-Control"]; len(cached) != 1 || cached[0] != "no-store" {
			t.Errorf("%s: Cache-Control is %q", text, cached)
		}
	}
}

func TestEcho_safePolicyExplainsRejection(t *testing.T) {
	w := echotest.Record(handlerOf(t), "/?echo.set-header=X-Accel-Redirect:/internal")
	for _, part := range []string{"echo.set-header: X-Accel-Redirect cannot be set by a request",
		"spec.server.controls: Full (ECHO_CONTROLS=Full)", "private network"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the reason is %q, without %q", w.Body, part)
		}
	}
}
