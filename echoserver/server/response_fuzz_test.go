package server

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/grpc"
)

// FuzzResponse asks for anything and holds every response to what must never happen: a secret of the environment shown, a stranger's
// text served as HTML, JSON that is none.
func FuzzResponse(f *testing.F) {
	const canary = "canary-4f1c9a"
	f.Setenv("SECRET", canary)
	for _, seed := range []struct{ path, query, name, value, body string }{
		{"/", "", "Accept", "text/html", "<b>"},
		{"/<script>", "echo.format=html&x=<script>", "X-A", "</script>", "</script>"},
		{"/-/env", "env=true", "X-Echo-Status", "204", ""},
		{"/$SECRET", "echo.set-header=Content-Type:text/html", "Forwarded", `for="`, "\xff"},
		{"/-/ws", "echo.size=10", "X-Echo-Set-Header", "content-type: image/svg+xml", "x"},
		{"/-/body", "", "Content-Type", "text/html", "<b>"},
	} {
		f.Add(seed.path, seed.query, seed.name, seed.value, seed.body)
	}
	f.Fuzz(func(t *testing.T, path, query, name, value, body string) {
		h, log := loggedHandler(t, "SECRET="+canary)
		close(h.life.ending) // nothing is held back
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.URL = &url.URL{Path: path, RawQuery: query}
		r.RequestURI = path + "?" + query
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		route := routeOf(path)
		if route == routeEvents || route == routeBody || grpc.IsCall(r) { // a recorder cannot stream, and FuzzCall sends calls
			return
		}
		h.ServeHTTP(w, r)

		if given := w.Body.String() + log.String(); strings.Contains(given, canary) && !strings.Contains(path+query+name+value+body, canary) {
			t.Errorf("the secret is given away: %s", given)
		}
		if route != routeWebSocket {
			checkContent(t, w.Header(), w.Body.String())
		}
		if logged := log.String(); logged != "" && !json.Valid([]byte(logged)) {
			t.Errorf("logged: %s", logged)
		}
	})
}

// checkContent holds a response to a type that fits what it is, and that no browser runs.
func checkContent(t *testing.T, header http.Header, given string) {
	t.Helper()
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && given != "" {
		t.Errorf("the type %q: %v", header.Get("Content-Type"), err)
	}
	switch mediaType {
	case "text/html":
		data, ok := dataOf(t, given)
		if !ok || strings.ContainsAny(data, "<>") || !json.Valid([]byte(data)) {
			t.Errorf("served as HTML: %s", given)
		}
	case "application/json":
		if header.Get("X-Echo-Applied") == "" && !json.Valid([]byte(given)) {
			t.Errorf("not JSON: %s", given)
		}
	case "", "text/plain", "text/csv", "application/problem+json", "application/octet-stream":
	default:
		t.Errorf("the type is %s", mediaType)
	}
}
