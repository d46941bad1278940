package server

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpc"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// FuzzResponse sends arbitrary requests. No response may reveal a secret from the environment or a header, serve text from a client as
// HTML, contain invalid JSON, or exceed the size limit.
func FuzzResponse(f *testing.F) {
	const canary, credential = "canary-4f1c9a", "credential-\xe9-9b2d"
	f.Setenv("SECRET", canary)
	for _, seed := range []struct{ path, query, name, value, body string }{
		{"/", "", "Accept", "text/html", "<b>"},
		{"/<script>", "echo.format=html&x=<script>", "X-A", "</script>", "</script>"},
		{"/-/env", "env=true", "X-Echo-Status", "204", ""},
		{"/$SECRET", "echo.set-header=Content-Type:text/html", "Forwarded", `for="`, "\xff"},
		{"/-/ws", "echo.size=10", "X-Echo-Set-Header", "content-type: image/svg+xml", "x"},
		{"/-/body", "", "Content-Type", "text/html", "<b>"},
		{"/caf\xe9", "q=caf%E9&%E8=1&%E9=2&\xff", "X-Name", "caf\xe9", "\x00\x01"},
		{"/a%2F-%2Fbody", "echo.format=text&%ff", "\xff", "\uFFFD", "AAE="},
		{"/", "", "\xff\xfe", "a", ""},
		{"/", strings.Repeat("%ff&", 30), "X-Forwarded-For", "\xff, \xfe", "<<<<"},
		{"/", strings.Repeat("%ff&", 199), "X-A", strings.Repeat("\xff", 29_000), strings.Repeat("<", 2*exchange.MaxShown)},
		{"/", "echo.format=text&" + strings.Repeat("\xff=\xff&", 199), "X-A", strings.Repeat("\xff", 29_000), strings.Repeat("<", 9)},
		{"/", "echo.format=html&" + strings.Repeat("\xff", 7000), "X-A", strings.Repeat("<", 29_000), strings.Repeat("<", 2*exchange.MaxShown)},
	} {
		f.Add(seed.path, seed.query, seed.name, seed.value, seed.body)
	}
	f.Fuzz(func(t *testing.T, path, query, name, value, body string) {
		h, log := loggedHandler(t, "SECRET="+canary)
		close(h.life.ending) // ends all delays
		r := requestOf(path, query, body, name, value, "X-Api-Key", credential)
		w := httptest.NewRecorder()
		route := routeOf(routedPath(r.URL))
		if route == "/-/sse" || route == "/-/body" || grpc.IsCall(r) { // a recorder cannot stream, and FuzzCall covers gRPC calls
			return
		}
		h.ServeHTTP(w, r)

		handshake := handshakeOf(h, r)
		if !json.Valid(handshake) || !utf8.Valid(handshake) {
			t.Errorf("the echo of a handshake is %q", handshake)
		}
		echotest.ExpectNoSecrets(t, w.Body.String()+string(handshake)+log.String(), path+query+name+value+body, canary, "credential-",
			base64.RawStdEncoding.EncodeToString([]byte(credential)))
		if route != "/-/ws" {
			checkContent(t, w.Header(), w.Body.String())
			checkBound(t, w, len(path)+len(query)+len(name)+len(value), len(body))
		}
		if logged := log.String(); logged != "" && !json.Valid([]byte(logged)) {
			t.Errorf("logged: %s", logged)
		}
	})
}

// requestOf returns a request with the given headers.
func requestOf(path, query, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: path, RawQuery: query}
	if parsed, err := url.ParseRequestURI(path); err == nil {
		r.URL.Path, r.URL.RawPath = parsed.Path, parsed.RawPath
	}
	r.RequestURI = path + "?" + query
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// handshakeOf opens a WebSocket with the headers from a request, and returns the WebSocket's first message as JSON.
func handshakeOf(h *handler, r *http.Request) []byte {
	handshake := r.Clone(r.Context())
	handshake.URL.RawQuery = "echo.handshake=true"
	text, _, _ := h.echoHandshake(exchange.New(httptest.NewRecorder(), handshake), handshake, &controls.Controls{Handshake: true})
	return text
}

// checkBound checks the size of an echo against a limit, which depends on the sizes of the request's header and the shown part of the body.
func checkBound(t *testing.T, w *httptest.ResponseRecorder, header, body int) {
	t.Helper()
	const fixed, listed, escape = 12 << 10, 250 * 80, 6 // sizes in bytes: the page, the list of values that are not UTF-8, the longest escape
	limit := fixed + listed + 3*escape*header + escape*min(body, exchange.MaxShown)
	if w.Body.Len() > limit && !strings.Contains(w.Header().Get("X-Echo-Applied"), "size=") {
		t.Errorf("the response to %d bytes and a body of %d has %d, the limit is %d", header, body, w.Body.Len(), limit)
	}
}

// checkContent checks that the content type of a response matches its content, and that no browser would execute it.
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
