package server

import (
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

func TestAccepted(t *testing.T) {
	for accept, want := range map[string]format{
		"":                   formatJSON,
		"*/*":                formatJSON,
		"application/json":   formatJSON,
		"text/plain":         formatText,
		"text/html":          formatHTML,
		"text/*":             formatText,
		"TEXT/HTML":          formatHTML,
		"image/png":          formatJSON,
		"text/html, */*":     formatJSON,
		"text/html;q=0, */*": formatJSON,
		"text/html;q=0.9, application/json;q=0.8":                         formatHTML,
		"text/html ; q=0.9 , text/plain ; q=0.95":                         formatText,
		"application/json, text/plain, */*":                               formatJSON,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": formatHTML, // Firefox
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7": formatHTML, // Chromium
		"text/html;q=nonsense, text/plain;q=0.1":   formatText,
		"text/html;q=NaN":                          formatJSON,
		"text/html;level=1;q=0.4, text/plain;q=.3": formatHTML,
	} {
		if got := accepted([]string{accept}); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := accepted([]string{"text/plain;q=0.5", "text/html"}); got != formatHTML {
		t.Errorf("two headers: %s", got)
	}
}

// TestPage holds the pages to their limits, and what is embedded to where nothing of it is markup.
func TestPage(t *testing.T) {
	for name, page := range map[string]string{"echo": echoPage, "WebSocket": webSocketPage} {
		if len(page) > 8<<10 || strings.Contains(page, "://") || strings.Contains(page, "innerHTML") {
			t.Errorf("the %s page has %d bytes, or reaches out", name, len(page))
		}
	}
	const attack = "</script><script>alert(1)</script><!--"
	h := handlerOf(t)
	got := echotest.Record(h, "/?echo.format=html&x="+strings.ReplaceAll(attack, " ", "+"), "X-Attack", attack, attack, attack)
	if got.Header().Get("Content-Type") != pageType {
		t.Fatalf("the page has the type %s", got.Header().Get("Content-Type"))
	}
	page := newPage(echoPage)
	data, ok := strings.CutPrefix(got.Body.String(), page.head)
	data, ok2 := strings.CutSuffix(data, page.tail)
	if !ok || !ok2 || strings.ContainsAny(data, "<>&") {
		t.Errorf("the page is %s", got.Body)
	}
	if a := decode(t, data); a.Headers["X-Attack"][0] != attack {
		t.Errorf("the page holds %q", a.Headers)
	}
}
