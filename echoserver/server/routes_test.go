package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
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

// TestRouteOf_servesPathsUnderPrefix requests paths with a prefix, as an Ingress with a path forwards them. Only some routes exist under a
// prefix.
func TestRouteOf_servesPathsUnderPrefix(t *testing.T) {
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
			t.Errorf("%s: the response to a path that ends like a probe is %q, not the echo", proto, got.Text)
		}
	}
}

// TestRoutedPath checks that an escaped slash is not a separator, no matter how many times it is escaped, and that other escapes are
// decoded.
func TestRoutedPath(t *testing.T) {
	for target, want := range map[string]route{
		"/a%2F-%2Fbody":         routeEcho, // a segment that contains slashes, such as a project path in the GitLab API
		"/a%2f-%2fbody":         routeEcho,
		"/a/-%2Fbody":           routeEcho,
		"/a%2F-/body":           routeEcho,
		"/%2F-/sse":             routeEcho,
		"/-%2Flivez":            routeEcho,
		"/-%2freadyz":           routeEcho,
		"/-%2Fws":               routeEcho,
		"/-%2Fother":            routeEcho,
		"/%2F-%2Fws":            routeEcho,
		"/a%252F-%252Fbody":     routeEcho,
		"/a%25252F-/body":       routeEcho,
		"/a%2F-%2Fbody?b=/-/ws": routeEcho,
		"/-/%2Fbody":            routeUnknown,
		"/-/body%2F":            routeUnknown,
		"/a%2Fb/-/body":         routeBody,
		"/a%2F/-/ws":            routeWebSocket,
		"/a%252Fb/-/sse":        routeEvents,
		"/%2D/livez":            routeLive, // an unnecessary escape (RFC 3986, 6.2.2.2)
		"/-/%62od%79":           routeBody,
		"/caf%E9/-/body":        routeBody,
		"/caf\xe9%2F-/body":     routeEcho,
		"http://a/b%2F-%2Fbody": routeEcho, // as sent to a proxy
		"http://a/b/-/body":     routeBody,
	} {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := routeOf(routedPath(parsed)); got != want {
			t.Errorf("the route of %q is %d, want %d", target, got, want)
		}
	}
}

// TestRoutedPath_servesEscapedSlashes sends paths that would be reserved if escaped slashes were treated as slashes. The server must echo
// and log them as received.
func TestRoutedPath_servesEscapedSlashes(t *testing.T) {
	h, log := loggedHandler(t)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for _, path := range []string{"/a%2F-%2Fbody", "/-%2Flivez", "/-%2Fother", "/shop%2f-%2Fws"} {
			if got := decode(t, echotest.Send(t, client, http.MethodGet, server.URL+path, "").Text); got.Path != path {
				t.Errorf("%s: %s is echoed as %s", proto, path, got.Path)
			}
		}
	}
	echotest.Until(t, "all are logged", func() bool { return strings.Count(log.String(), "\n") == 8 })
}
