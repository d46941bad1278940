package server

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestEcho(t *testing.T) {
	address := serve(t, handlerOf(t, "POD_NAMESPACE=ns", "POD_NAME=p-1", "SERVICE_NAME=s", "INGRESS_NAME=i", "NODE_NAME=n",
		"POD_IP=10.1.2.3", "HOST_IP=10.0.0.1", "ECHO_INFO_COLOR=blue", "ECHO_INFO_=nameless")).URL
	for proto, sender := range echotest.Clients(t) {
		got := echotest.Send(t, sender, http.MethodPut, address+"/a//b/../c?x=1&x=%20&=3", "hello", "X-Many", "1", "X-Many", "2",
			"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "id-7", "User-Agent", "")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "application/json" || got.Proto != proto {
			t.Fatalf("%s: responded %d with %v", proto, got.StatusCode, got.Header)
		}
		a := decode(t, got.Text)
		if since := time.Since(a.Request.Time); since < 0 || since > echotest.Patience {
			t.Errorf("%s: the time is %s", proto, a.Request.Time)
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

func TestRoute_echoesAllPathsExceptReserved(t *testing.T) {
	server := serve(t, handlerOf(t))
	client := echotest.Clients(t)["HTTP/1.1"]
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, want := range map[string]int{"/": 200, "/livez": 200, "/-": 200, "//double": 200, "/a/../-/x": 200, "/-/livez": 200,
		"/-/readyz": 200,
		"/-/":       404, "/-/other": 404, "/-//livez": 404, "/-/../x": 404, "/%2D/livez": 200} {
		if got := echotest.Send(t, client, http.MethodGet, server.URL+path, ""); got.StatusCode != want {
			t.Errorf("%s gets %d, want %d", path, got.StatusCode, want)
		}
	}
	if got := decode(t, echotest.Send(t, client, http.MethodOptions, server.URL+"/x", "").Text); got.Method != http.MethodOptions {
		t.Errorf("OPTIONS is echoed as %s", got.Method)
	}
}

func TestHandler_respondsToHeadLikeGet(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		got := echotest.Send(t, client, http.MethodHead, server.URL+"/?echo.size=1000", "")
		if got.StatusCode != http.StatusOK || got.ContentLength != 1000 || got.Text != "" {
			t.Errorf("%s: %d, %d bytes announced, %q", proto, got.StatusCode, got.ContentLength, got.Text)
		}
	}
}

// TestContent_indentsJSONUnlessForPrograms checks which clients get indented JSON.
func TestContent_indentsJSONUnlessForPrograms(t *testing.T) {
	h := handlerOf(t)
	for name, c := range map[string]struct {
		accept   string
		header   int
		indented bool
	}{
		"curl":              {"*/*", 0, true},
		"nothing accepted":  {"", 0, true},
		"a program":         {"application/json", 0, false},
		"a program, others": {"application/json, text/plain, */*", 0, false},
		"anything else":     {"application/*", 0, true},
		"a long response":   {"*/*", 16 << 10, false},
	} {
		got := echotest.Record(h, "/", "Accept", c.accept, "X-A", strings.Repeat("x", c.header)).Body.String()
		if indented := strings.Count(got, "\n") > 1; indented != c.indented || !json.Valid([]byte(got)) {
			t.Errorf("%s: the response is %.100q", name, got)
		}
	}
}

// TestEcho_describesRequestAsText checks the complete text response to requests with a body.
func TestEcho_describesRequestAsText(t *testing.T) {
	server := serve(t, handlerOf(t, "POD_NAMESPACE=ns", "INGRESS_NAME=i", "SERVICE_NAME=s", "POD_NAME=p", "NODE_NAME=n",
		"ECHO_INFO_COLOR=blue"))
	for proto, client := range echotest.Clients(t) {
		for name, c := range map[string]struct{ body, end string }{
			"text":   {"hello", "body: 5 bytes, sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824, utf-8\n\nhello\n"},
			"binary": {"\xff\x00", "body: 2 bytes, sha256 ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f, base64\n\n/wA=\n"},
		} {
			got := echotest.Send(t, client, http.MethodPut, server.URL+"/a?b=c", c.body, "Accept", "text/plain", "X-Request-Id", "id", "User-Agent",
				"", "X-A", "1")
			want := "PUT /a?b=c " + proto + "\nHost: " + strings.TrimPrefix(server.URL,
				"http://") + "\nAccept: text/plain\nAccept-Encoding: gzip\nContent-Length: " +
				strconv.Itoa(len(c.body)) + "\nX-A: 1\nX-Request-Id: id\n\n" +
				"request: id\nclient: 127.0.0.1\nnamespace: ns\ningress: i\nservice: s\npod: p\nnode: n\nversion: dev\nCOLOR: blue\n" + c.end
			if diff := cmp.Diff(want, got.Text); diff != "" || got.Header.Get("Content-Type") != transport.PlainText {
				t.Errorf("%s, %s: the type is %s (-want +got):\n%s", proto, name, got.Header.Get("Content-Type"), diff)
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

// TestEcho_hidesIdentityIfDisabled checks that without identity, no response format reveals where the server runs.
func TestEcho_hidesIdentityIfDisabled(t *testing.T) {
	environ := []string{"POD_NAME=a-pod", "POD_NAMESPACE=a-namespace", "POD_IP=10.1.1.1", "NODE_NAME=a-node", "HOST_IP=10.2.2.2",
		"SERVICE_NAME=a-service", "INGRESS_NAME=an-ingress", "ECHO_INFO_COLOR=blue"}
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

func TestEcho_redactsSecretsInEachFormat(t *testing.T) {
	h := handlerOf(t)
	for _, format := range []string{"json", "text", "html"} {
		got := echotest.Record(h, "/?echo.format="+format, "Authorization", "Bearer hunter2", "Cookie", "a=hunter2", "Proxy-Authorization",
			"hunter2", "X-Api-Key", "hunter2")
		if strings.Contains(got.Body.String(), "hunter2") || !strings.Contains(got.Body.String(), "[redacted: ") {
			t.Errorf("%s: %s", format, got.Body)
		}
	}
}

// TestEcho_redactsCopiesOfHeaders checks that data parsed or derived from a redacted header does not reveal its value.
func TestEcho_redactsCopiesOfHeaders(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=X-Forwarded-For,Forwarded,Traceparent,X-Request-Id")
	w := echotest.Record(h, "/", "X-Forwarded-For", "192.0.2.77", "Forwarded", "for=192.0.2.78", "Traceparent",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "X-Request-Id", "secret-id")
	for _, secret := range []string{"192.0.2.77", "192.0.2.78", "0af7651916cd43dd8448eb211c80319c", "secret-id"} {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: the description is %s", secret, w.Body)
		}
	}
}

// TestEcho_reportsClientBehindTrustedProxies sends requests from 127.0.0.1 over real connections, and checks how the responses describe the
// client.
func TestEcho_reportsClientBehindTrustedProxies(t *testing.T) {
	for name, c := range map[string]struct {
		trusted string
		headers []string
		want    describe.Client
	}{
		"none trusted": {"", []string{"X-Forwarded-For", "203.0.113.7"},
			describe.Client{Address: "127.0.0.1", ForwardedFor: []string{"203.0.113.7"}}},
		"X-Forwarded-For": {"127.0.0.0/8,10.0.0.0/8", []string{"X-Forwarded-For", "1.1.1.1, 203.0.113.7", "X-Forwarded-For", "10.1.1.1"},
			describe.Client{Address: "203.0.113.7", ForwardedFor: []string{"1.1.1.1", "203.0.113.7", "10.1.1.1"}}},
		"Forwarded": {"127.0.0.1", []string{"Forwarded", `for="[2001:db8::7]:4711";proto=https;host=example.com;by=10.0.0.1`},
			describe.Client{Address: "2001:db8::7",
				Forwarded: []describe.ForwardedPair{{For: "[2001:db8::7]:4711", Proto: "https", Host: "example.com", By: "10.0.0.1"}}}},
		"Forwarded with a parameter twice": {"127.0.0.1", []string{"Forwarded", "for=1.1.1.1;for=2.2.2.2"},
			describe.Client{Address: "127.0.0.1"}},
		"Forwarded of a proxy that hides its client": {"127.0.0.1", []string{"Forwarded", "for=6.6.6.6, x=y"},
			describe.Client{Forwarded: []describe.ForwardedPair{{For: "6.6.6.6"}, {}}}},
		"both": {"127.0.0.1", []string{"Forwarded", "for=6.6.6.6", "X-Forwarded-For", "203.0.113.7"},
			describe.Client{Address: "203.0.113.7", ForwardedFor: []string{"203.0.113.7"}, Forwarded: []describe.ForwardedPair{{For: "6.6.6.6"}}}},
	} {
		server := serve(t, handlerOf(t, "ECHO_TRUSTED_PROXIES="+c.trusted))
		for proto, sender := range echotest.Clients(t) {
			got := decode(t, echotest.Send(t, sender, http.MethodGet, server.URL, "", c.headers...).Text).Client
			c.want.Remote = got.Remote
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, proto, diff)
			}
		}
	}
}

// TestEcho_hidesProxiesWithoutIdentity sends requests from 192.0.2.1. A response must show a client's address only if a trusted proxy
// reports it.
func TestEcho_hidesProxiesWithoutIdentity(t *testing.T) {
	for name, c := range map[string]struct{ trusted, forwarded, want string }{
		"no trusted proxy":             {"", "10.0.0.1", ""},
		"a client":                     {"192.0.2.1", "203.0.113.5", "203.0.113.5"},
		"a client of several":          {"192.0.2.1,10.0.0.0/8", "203.0.113.5, 10.0.0.2", "203.0.113.5"},
		"only trusted proxies":         {"192.0.2.1,10.0.0.0/8", "10.0.0.1, 10.0.0.2", ""},
		"a trusted proxy that is mute": {"192.0.2.1", "", ""},
		"a client that is hidden":      {"192.0.2.1", "unknown", ""},
	} {
		h := handlerOf(t, "ECHO_IDENTITY=false", "ECHO_TRUSTED_PROXIES="+c.trusted)
		got := decode(t, echotest.Record(h, "/", "X-Forwarded-For", c.forwarded).Body.String()).Client
		if got.Address != c.want || got.Remote != "" {
			t.Errorf("%s: the client is %+v, want %q", name, got, c.want)
		}
	}
}
