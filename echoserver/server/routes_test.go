package server

import (
	"net/http"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

func TestRouteOf(t *testing.T) {
	for path, want := range map[string]route{
		"/-/livez":          routeLive,
		"/-/readyz":         routeReady,
		"/-/body":           routeBody,
		"/-/ws":             routeWebSocket,
		"/-/sse":            routeEvents,
		"/shop/-/body":      routeBody,
		"/shop/-/ws":        routeWebSocket,
		"/shop/a b/-/sse":   routeEvents,
		"//-/ws":            routeWebSocket,
		"/-/-/ws":           routeWebSocket,
		"/-/other/-/ws":     routeWebSocket,
		"/-/":               routeUnknown,
		"/-/other":          routeUnknown,
		"/-/ws/":            routeUnknown,
		"/-/ws/other":       routeUnknown,
		"/-/WS":             routeUnknown,
		"/-/livez/":         routeUnknown,
		"":                  routeEcho,
		"*":                 routeEcho,
		"/":                 routeEcho,
		"/-":                routeEcho,
		"/ws":               routeEcho,
		"/-ws":              routeEcho,
		"/shop/ws":          routeEcho,
		"/shop-/-ws":        routeEcho,
		"/shop-/ws":         routeEcho,
		"/shop/-/ws/":       routeEcho,
		"/shop/-/ws/x":      routeEcho,
		"/shop/-/other":     routeEcho,
		"/shop/-/livez":     routeEcho,
		"/shop/-/readyz":    routeEcho,
		"/shop/-/websocket": routeEcho,
		"-/ws":              routeEcho,
	} {
		if got := routeOf(path); got != want {
			t.Errorf("the route of %q is %d, want %d", path, got, want)
		}
	}
}

// TestRoutesUnderPrefix asks for what exists under a prefix as an Ingress with a path forwards it, and for what does not.
func TestRoutesUnderPrefix(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		if got := echotest.Send(t, client, http.MethodPost, server.URL+"/shop/-/body", "hello"); got.Text != "hello" {
			t.Errorf("%s: the body comes back as %q", proto, got.Text)
		}
		if got := echotest.Send(t, client, http.MethodGet, server.URL+"/shop/-/ws?color=blue",
			""); got.Header.Get("Content-Type") != describe.PageType {
			t.Errorf("%s: the page for WebSockets is %s", proto, got.Header.Get("Content-Type"))
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL+"/shop/-/sse", ""); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: the event stream responds to POST with %d", proto, got.StatusCode)
		}
		if got := echotest.Send(t, client, http.MethodGet, server.URL+"/shop/-/readyz", ""); decode(t, got.Text).Path != "/shop/-/readyz" {
			t.Errorf("%s: a path that ends like a probe is not echoed but %q", proto, got.Text)
		}
	}
}
