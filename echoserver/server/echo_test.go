package server

import (
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestEcho(t *testing.T) {
	address := serve(t, handlerOf(t, "ECHO_POD_NAMESPACE=ns", "ECHO_POD_NAME=p-1", "ECHO_SERVICE_NAME=s", "ECHO_INGRESS_NAME=i",
		"ECHO_NODE_NAME=n", "ECHO_POD_IP=10.1.2.3", "ECHO_HOST_IP=10.0.0.1", "ECHO_INFO_COLOR=blue", "ECHO_INFO_=nameless")).URL
	for proto, sender := range echotest.Clients(t) {
		got := echotest.Send(t, sender, http.MethodPut, address+"/a//b/../c?x=1&x=%20&=3", "hello", "X-Many", "1", "X-Many", "2",
			"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "id-7", "User-Agent", "")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.Proto != proto {
			t.Fatalf("%s: responded %d with %v", proto, got.StatusCode, got.Header)
		}
		a := decode(t, got.Text)
		if since := time.Since(a.Request.Time); since < 0 || since > echotest.Patience || a.Applied != nil ||
			got.Header["X-Echo-Applied"] != nil {
			t.Errorf("%s: the time is %s, the applied controls are %v", proto, a.Request.Time, a.Applied)
		}
		want := describe.Response{
			Path: "/a//b/../c?x=1&x=%20&=3", Host: strings.TrimPrefix(address, "http://"), Method: "PUT", Proto: proto, Port: "8080",
			Headers: map[string][]string{"X-Many": {"1", "2"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"5"}, "X-Request-Id": {"id-7"},
				"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}},
			Namespace: "ns", Ingress: "i", Service: "s", Pod: "p-1",
			Request: describe.Request{ID: "id-7", Time: a.Request.Time, Query: map[string][]string{"x": {"1", " "}, "": {"3"}}, ContentLength: 5,
				Body: &exchange.Body{Size: 5, SHA256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", Data: "hello",
					Encoding: "utf-8"}},
			Client: describe.Client{Remote: a.Client.Remote, Address: "127.0.0.1"},
			Trace:  &describe.Trace{Version: "00", TraceID: "0af7651916cd43dd8448eb211c80319c", ParentID: "b7ad6b7169203331", Sampled: true},
			Server: describe.Server{Node: "n", PodIP: "10.1.2.3", HostIP: "10.0.0.1", Version: "dev", Uptime: a.Server.Uptime,
				Info: map[string]string{"COLOR": "blue", "": "nameless"}},
		}
		if proto == "HTTP/1.1" {
			want.Request.HeaderNames = []string{"Host", "Content-Length", "Traceparent", "X-Many", "X-Many", "X-Request-Id", "Accept-Encoding"}
		}
		if diff := cmp.Diff(want, a.Response, cmp.AllowUnexported(describe.Response{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", proto, diff)
		}
	}
}

func TestHandler_setsSecurityHeaders(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for _, path := range []string{"/", "/?echo.format=html", "/?echo.format=text", "/?echo.status=1", "/?echo.size=9", "/-/livez",
			"/-/readyz", "/-/ws", "/-/body", "/-/other", "/?echo.status=204"} {
			got := echotest.Send(t, client, http.MethodGet, server.URL+path, "", "Origin", "http://elsewhere.example")
			header := got.Header
			if header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %v", proto, path, header)
			}
			if isPage := path == "/?echo.format=html" || path == "/-/ws"; isPage == (header.Get("Content-Security-Policy") == exchange.Sandbox) {
				t.Errorf("%s %s has the policy %q", proto, path, header.Get("Content-Security-Policy"))
			}
			if got.Text != "" && header.Get("Content-Type") == "" {
				t.Errorf("%s %s has no type", proto, path)
			}
			for name := range header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s has %s", proto, path, name)
				}
			}
		}
	}
}

// TestEcho_showsHeaderNamesOfEarlyRequest sends a request while a handler still serves the previous one. Meanwhile, net/http reads one byte.
func TestEcho_showsHeaderNamesOfEarlyRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		conn := listener.Dial(t)
		go func() {
			_, _ = io.WriteString(conn, "GET /?echo.delay=1s HTTP/1.1\r\nHost: a\r\n\r\n")
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nhOST: a\r\nConnection: close\r\n\r\n")
		}()
		if got, err := io.ReadAll(conn); err != nil || !strings.Contains(string(got), `"hOST"`) {
			t.Errorf("the responses are %s, %v", got, err)
		}
	})
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

// TestEcho_hidesIdentityIfDisabled checks that without identity, no response format reveals where the server runs.
func TestEcho_hidesIdentityIfDisabled(t *testing.T) {
	environ := []string{"ECHO_POD_NAME=a-pod", "ECHO_POD_NAMESPACE=a-namespace", "ECHO_POD_IP=10.1.1.1", "ECHO_NODE_NAME=a-node",
		"ECHO_HOST_IP=10.2.2.2", "ECHO_SERVICE_NAME=a-service", "ECHO_INGRESS_NAME=an-ingress", "ECHO_INFO_COLOR=blue"}
	secrets := []string{"a-pod", "a-namespace", "10.1.1.1", "a-node", "10.2.2.2", "a-service", "an-ingress", `"version"`, "version: ",
		`"uptime"`, "192.0.2.1"}
	for _, format := range []string{"json", "text", "html"} {
		shown := echotest.Record(handlerOf(t, environ...), "/?echo.format="+format).Body.String()
		hidden := echotest.Record(handlerOf(t, append(environ, "ECHO_IDENTITY=false")...), "/?echo.format="+format).Body.String()
		for _, secret := range secrets {
			if strings.Contains(hidden, secret) {
				t.Errorf("%s: %s is shown", format, secret)
			}
		}
		if !strings.Contains(hidden, "blue") || !strings.Contains(shown, "a-pod") {
			t.Errorf("%s: with identity %s, without %s", format, shown, hidden)
		}
	}
	if got := decode(t, echotest.Record(handlerOf(t, "ECHO_IDENTITY=false"), "/").Body.String()); got.Port != "8080" || got.Request.ID == "" {
		t.Errorf("too much is hidden: %+v", got)
	}
}

// TestEcho_redactsCopiesOfHeaders checks that data parsed or derived from a redacted header does not reveal its value.
func TestEcho_redactsCopiesOfHeaders(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=X-Forwarded-For,Forwarded,Traceparent,X-Request-Id", "ECHO_TRUSTED_PROXIES=192.0.2.1")
	w := echotest.Record(h, "/", "X-Forwarded-For", "192.0.2.77", "Forwarded", "for=192.0.2.78", "Traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "secret-id")
	for _, secret := range []string{"192.0.2.77", "192.0.2.78", "0af7651916cd43dd8448eb211c80319c", "secret-id"} {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the description is %s", secret, w.Body)
		}
	}
}

// TestHandler_servesPages compares the page for WebSockets with its source file. FuzzResponse does the same for the page with an echo.
func TestHandler_servesPages(t *testing.T) {
	got := echotest.Record(handlerOf(t), "/-/ws")
	if got.Body.String() != documentOf(t, "page_websocket.html") || !strings.Contains(got.Body.String(), "new WebSocket(") ||
		got.Header().Get("Content-Security-Policy") != describe.NewPages().WebSocket.Policy {
		t.Errorf("the page has %d bytes and the headers %v", got.Body.Len(), got.Header())
	}
}

// latin1 is text that is not valid UTF-8.
const latin1 = "caf\xe9"

// TestRawList_hidesRedactedSecrets sends secrets that are not UTF-8, some of them on several lines, in headers and trailers. No response, in
// any format, may contain any part of them.
func TestRawList_hidesRedactedSecrets(t *testing.T) {
	const secret = "hunter2\xe9"
	server := serve(t, handlerOf(t, "ECHO_REDACT_HEADERS=X-Forwarded-For,X-Custom,X-Sum"))
	for _, format := range []string{"json", "text", "html"} {
		got := echotest.Exchanged(t, echotest.Dial(t, server.URL), "POST /?echo.format="+format+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+
			"Authorization: Bearer\r\n hunter2:\xe9\r\n\thunter2\r\nCookie: a="+secret+"\r\nX-Forwarded-For: "+secret+"\r\nX-Custom: "+secret+
			"\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n0\r\nX-Sum: "+secret+"\r\n\r\n")
		for _, part := range []string{"hunter2", base64.RawStdEncoding.EncodeToString([]byte(secret)), `"raw"`, "raw: "} {
			if strings.Contains(got, part) || !strings.Contains(got, "[redacted: ") {
				t.Errorf("%s: the response contains %q, or nothing is redacted: %s", format, part, got)
			}
		}
	}
}
