package nginx

import (
	"strings"
	"testing"
)

// page is the Accept header that a browser sends for a page.
const page = "text/html,application/xhtml+xml,*/*;q=0.8"

// cacheable is the setting with which an Echo's author allows nginx to cache responses.
const cacheable = `ECHO_RESPONSE_HEADERS=[{"name":"Cache-Control","value":"public, max-age=60"}]`

// TestAuthorMayCache sends requests with controls to an echo server whose author allows proxies to store responses. Only responses to
// requests without controls may be stored.
func TestAuthorMayCache(t *testing.T) {
	g := startGateway(t, cacheable)
	large := strings.Repeat("x", 9<<20) // exceeds the echo server's limit
	for name, c := range map[string]struct {
		query, body string
		headers     []string
	}{
		"status by header":         {headers: []string{"X-Echo-Status", "503"}},
		"status by link":           {query: "?echo.status=503"},
		"redirect by header":       {headers: []string{"X-Echo-Status", "301", "X-Echo-Set-Header", "Location: /elsewhere"}},
		"format by header":         {headers: []string{"X-Echo-Format", "text"}},
		"own header by header":     {headers: []string{"X-Echo-Set-Header", "X-Color: blue"}},
		"invalid value by header":  {headers: []string{"X-Echo-Status", "999"}},
		"unknown control":          {headers: []string{"X-Echo-Unknown", "1"}},
		"refused header":           {headers: []string{"X-Echo-Set-Header", "Set-Cookie: a=b"}},
		"body that is too large":   {body: large},
		"query that is not parsed": {query: "?echo.status=503;x=%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			path := pathOf(name)
			g.send(t, path+c.query, c.body, c.headers...)
			expectEcho(t, g.send(t, path, ""), path, "MISS")
			expectEcho(t, g.send(t, path, ""), path, "HIT")
			g.send(t, path+c.query, c.body, c.headers...)
			expectEcho(t, g.send(t, path, ""), path, "HIT")
		})
	}
}

// TestAuthorMayCacheFormats checks that nginx does not serve a stored response to clients that do not accept its format.
func TestAuthorMayCacheFormats(t *testing.T) {
	g := startGateway(t, cacheable)
	expectPage := func(t *testing.T, path string) {
		t.Helper()
		if got := g.send(t, path, "", "Accept", page).Header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
			t.Errorf("a browser gets %q", got)
		}
	}
	t.Run("a page first", func(t *testing.T) {
		expectPage(t, "/page")
		expectEcho(t, g.send(t, "/page", "", "Accept", "application/json"), "/page", "MISS")
		expectEcho(t, g.send(t, "/page", "", "Accept", "application/json"), "/page", "HIT")
	})
	t.Run("a page last", func(t *testing.T) {
		expectEcho(t, g.send(t, "/last", ""), "/last", "MISS")
		expectPage(t, "/last")
		expectEcho(t, g.send(t, "/last", ""), "/last", "HIT")
	})
}
