package pathcheck

import (
	"net/http"
	"net/http/httputil"
	"testing"
)

// TestRun_schemeOfHandshake examines the scheme that proxies report for a WebSocket handshake.
func TestRun_schemeOfHandshake(t *testing.T) {
	address, _ := startEcho(t)
	ofHandshake := func(name string, values ...string) func(string) http.Handler {
		return changes(func(r *httputil.ProxyRequest) {
			if r.In.Header.Get("Upgrade") != "" {
				r.Out.Header[name] = values
			}
		})
	}
	for name, c := range map[string]struct {
		proxy func(string) http.Handler
		want  string
	}{
		"nothing":                {changes(nothing), "not reported"},
		"wss (Traefik)":          {ofHandshake("X-Forwarded-Proto", "wss"), "wss"},
		"ws":                     {ofHandshake("X-Forwarded-Proto", "WS"), "ws"},
		"a list":                 {ofHandshake("X-Forwarded-Proto", "wss, http"), "list"},
		"Forwarded":              {ofHandshake("Forwarded", "for=10.0.0.1;proto=wss, for=10.0.0.2;proto=http"), "wss"},
		"handshakes are refused": {refuseIf(403, func(r *http.Request) bool { return r.Header.Get("Upgrade") != "" }), "refused 403"},
		"for the path of the WebSocket": {changes(func(r *httputil.ProxyRequest) {
			if r.In.URL.Path == "/-/ws" {
				r.Out.Header.Set("X-Forwarded-Proto", "wss")
			}
		}), "wss"},
		"without the query": {changes(func(r *httputil.ProxyRequest) {
			r.Out.URL.RawQuery = ""
			r.Out.Header.Set("X-Forwarded-Proto", "ws")
		}), "ws"},
		"handshakes are not recognized": {changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("Upgrade") }), "not reported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, c.proxy(address)), Groups: []string{"websocket"}})
			expectFacts(t, report, map[string]string{"websocket.proto": c.want})
		})
	}
}
