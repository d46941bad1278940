package server

import (
	"net/http"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandler_supportsHeadOfEachRoute sends HEAD requests wherever GET is supported. Each response must have the status and media type of
// the response to GET, and must end (RFC 9110, 9.3.2).
func TestHandler_supportsHeadOfEachRoute(t *testing.T) {
	h := handlerOf(t)
	public, admin := serve(t, h).URL, serve(t, newAdmin(h.life, h.metrics)).URL
	for proto, client := range echotest.Clients(t) {
		for _, url := range []string{public + "/", public + "/a?echo.size=5", public + "/?echo.status=503", public + "/?echo.format=html",
			public + "/-/livez", public + "/-/readyz", public + "/-/body", public + "/-/body?digest", public + "/-/ws", public + "/-/sse",
			public + "/shop/-/sse", public + "/-/unknown", admin + "/metrics", admin + "/livez"} {
			get := echotest.Open(t, client, http.MethodGet, url, http.NoBody) // not read to the end, because event streams do not end
			head := echotest.Send(t, client, http.MethodHead, url, "")
			mediaType := head.Header.Get("Content-Type")
			if head.StatusCode != get.StatusCode || mediaType != get.Header.Get("Content-Type") || head.Text != "" {
				t.Errorf("%s, %s: %d with type %q and %q", proto, url, head.StatusCode, mediaType, head.Text)
			}
			_ = get.Body.Close()
		}
		for _, path := range []string{"/-/ws", "/-/sse"} {
			got := echotest.Send(t, client, http.MethodPost, public+path, "")
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s, POST %s: %d, Allow %q", proto, path, got.StatusCode, got.Header.Get("Allow"))
			}
		}
	}
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodHead, public+"/-/ws", "", "Connection", "Upgrade",
		"Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if got.StatusCode != http.StatusOK {
		t.Errorf("HEAD with a handshake: %d", got.StatusCode)
	}
}
