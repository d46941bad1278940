package server

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandler_servesPagesWithPolicies compares the served pages with their source files, and the pages' policies with the response headers.
func TestHandler_servesPagesWithPolicies(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		got := echotest.Send(t, client, http.MethodGet, server.URL+"/-/ws", "")
		if got.Text != documentOf(t, "page_websocket.html") ||
			got.Header.Get("Content-Security-Policy") != describe.NewPages().WebSocket.Policy ||
			got.Header.Get("Content-Type") != describe.PageType {
			t.Errorf("%s: the page for WebSockets has %d bytes and the headers %v", proto, len(got.Text), got.Header)
		}
		if !strings.Contains(got.Text, "new WebSocket(") {
			t.Errorf("%s: the page opens no WebSocket", proto)
		}
		got = echotest.Send(t, client, http.MethodPost, server.URL+"/-/ws", "")
		if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: POST gets %d", proto, got.StatusCode)
		}
		got = echotest.Send(t, client, http.MethodGet, server.URL+"/", "", "Accept", "text/html")
		if _, ok := dataOf(t, got.Text); !ok || got.Header.Get("Content-Security-Policy") != describe.NewPages().Echo.Policy {
			t.Errorf("%s: the page has %d bytes and the headers %v", proto, len(got.Text), got.Header)
		}
	}
}

// documentOf returns the source file of a page.
func documentOf(t *testing.T, name string) string {
	t.Helper()
	document, err := os.ReadFile("../describe/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// dataOf returns the data in a page that describes a request, or false for any other page.
func dataOf(t *testing.T, page string) (string, bool) {
	t.Helper()
	const begin = `id="data">`
	head, tail, _ := strings.Cut(documentOf(t, "page_echo.html"), begin)
	data, hasHead := strings.CutPrefix(page, head+begin)
	data, hasTail := strings.CutSuffix(data, tail)
	return data, hasHead && hasTail
}

// TestContent_pageIsSmallAndSafe checks that the pages are small and load nothing from elsewhere, and that their data cannot be interpreted
// as markup.
func TestContent_pageIsSmallAndSafe(t *testing.T) {
	for name, page := range map[string]string{"echo": documentOf(t, "page_echo.html"), "WebSocket": documentOf(t, "page_websocket.html")} {
		if len(page) > 8<<10 || strings.Contains(page, "://") || strings.Contains(page, "innerHTML") {
			t.Errorf("the %s page has %d bytes, or reaches out", name, len(page))
		}
	}
	const attack = "</script><script>alert(1)</script><!--"
	h := handlerOf(t)
	got := echotest.Record(h, "/?echo.format=html&x="+strings.ReplaceAll(attack, " ", "+"), "X-Attack", attack, attack, attack)
	if got.Header().Get("Content-Type") != describe.PageType {
		t.Fatalf("the page has the type %s", got.Header().Get("Content-Type"))
	}
	data, ok := dataOf(t, got.Body.String())
	if !ok || strings.ContainsAny(data, "<>&") {
		t.Errorf("the page is %s", got.Body)
	}
	if a := decode(t, data); a.Headers["X-Attack"][0] != attack {
		t.Errorf("the page holds %q", a.Headers)
	}
}
