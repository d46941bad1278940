package server

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

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
