package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// latin1 is text that is not valid UTF-8.
const latin1 = "caf\xe9"

// TestRawList sends values that are not UTF-8 in every part of a request that can contain them, over both protocols.
func TestRawList(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	raw := func(where, name string, index int, value string) describe.Raw {
		return describe.Raw{Where: where, Name: name, Index: index, Base64: []byte(value)}
	}
	for name, c := range map[string]struct {
		path    string
		headers []string
		trailer string
		want    describe.RawList
	}{
		"nothing":             {"/caf%C3%A9?q=caf%C3%A9", []string{"X-Name", "café", "X-Name", "caf\uFFFD"}, "é", nil},
		"an escaped path":     {"/caf%E9", nil, "", nil}, // the path stays as received
		"names of parameters": {"/?%E8=1&%E9=%E9", nil, "", describe.RawList{raw("query", "\uFFFD", 1, "\xe9")}},
		"all": {"/" + latin1 + "?q=%E9", []string{"X-Name", latin1}, latin1, describe.RawList{raw("path", "", 0, "/"+latin1+"?q=%E9"),
			raw("header", "X-Name", 0, latin1), raw("trailer", "X-Sum", 0, latin1), raw("query", "q", 0, "\xe9")}},
	} {
		for proto, client := range echotest.Clients(t) {
			got := decode(t, sendRaw(t, client, server.URL, c.path, c.trailer, c.headers...))
			if diff := cmp.Diff(c.want, got.Request.Raw); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, proto, diff)
			}
			if !strings.HasPrefix(got.Path, "/") || c.trailer != "" && len(got.Request.Trailers["X-Sum"]) != 1 {
				t.Errorf("%s, %s: the values are not where they were: %+v", name, proto, got.Request)
			}
		}
	}
}

// sendRaw sends a request without changing its path, with a trailer unless trailer is empty, and returns the response.
func sendRaw(t *testing.T, client *http.Client, address, path, trailer string, headers ...string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	path, target.RawQuery, _ = strings.Cut(path, "?")
	target.Opaque = path
	r := &http.Request{Method: http.MethodPost, URL: target, Host: target.Host, Header: http.Header{"User-Agent": {""}}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if trailer != "" {
		r.Body, r.Trailer = io.NopCloser(strings.NewReader("a")), http.Header{"X-Sum": {trailer}}
	}
	response, err := client.Do(r.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	return echotest.Reply{Response: response}.Whole(t).Text
}

// TestRawList_includesPseudoHeaders sends pseudo-header values that only HTTP/2 allows.
func TestRawList_includesPseudoHeaders(t *testing.T) {
	connection := echotest.Dial(t, serve(t, handlerOf(t)).URL)
	text := sentOverHTTP2(t, connection, echotest.HeaderBlockTo("a\xff.example", "G\xe9T", "/"))
	want := describe.RawList{{Where: "host", Base64: []byte("a\xff.example")}, {Where: "method", Base64: []byte("G\xe9T")}}
	if got := decode(t, text); got.Host != "a\uFFFD.example" || !cmp.Equal(want, got.Request.Raw) {
		t.Errorf("the request is %+v", got)
	}
}

// sentOverHTTP2 sends a request header over HTTP/2, and returns the body of the response.
func sentOverHTTP2(t *testing.T, connection net.Conn, block []byte) string {
	t.Helper()
	framer, err := echotest.Greet(connection)
	if err = errors.Join(err, echotest.WriteHeader(framer, 1, block, true, true)); err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			body.Write(data.Data())
			if data.StreamEnded() {
				return body.String()
			}
		}
	}
}

// TestRawList_hidesRedactedSecrets sends secrets that are not UTF-8, some of them on several lines. No response, in any format, may contain
// any part of them.
func TestRawList_hidesRedactedSecrets(t *testing.T) {
	h := handlerOf(t, "ECHO_REDACT_HEADERS=X-Forwarded-For,X-Custom,X-Sum")
	const secret = "hunter2\xe9"
	server := serve(t, h)
	for _, format := range []string{"json", "text", "html"} {
		for proto, client := range echotest.Clients(t) {
			got := sendRaw(t, client, server.URL, "/?echo.format="+format, secret, "Authorization", "Bearer "+secret, "Cookie", "a="+secret,
				"X-Forwarded-For", secret, "X-Custom", secret)
			expectHidden(t, proto+" "+format, got, secret)
		}
		folded := echotest.Exchanged(t, echotest.Dial(t, server.URL), "GET /?echo.format="+format+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"+
			"Authorization: Bearer\r\n hunter2:\xe9\r\n\thunter2\r\n\r\n")
		expectHidden(t, "several lines, "+format, folded, "hunter2")
	}
}

// expectHidden fails the test if a string contains a secret (in plain text or base64) or a list of raw values.
func expectHidden(t *testing.T, name, text, secret string) {
	t.Helper()
	encoded, err := json.Marshal([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"hunter2", strings.Trim(string(encoded), `"=`), `"raw"`, "raw: "} {
		if strings.Contains(text, part) {
			t.Errorf("%s: the response contains %q: %s", name, part, text)
		}
	}
	if !strings.Contains(text, "[redacted: ") {
		t.Errorf("%s: nothing is redacted: %s", name, text)
	}
}

// TestEcho_boundsResponseSize sends requests of about the maximum size, with text that is not UTF-8 or needs escapes.
func TestEcho_boundsResponseSize(t *testing.T) {
	h := handlerOf(t)
	for name, query := range map[string]string{"escaped": strings.Repeat("%ff&", 199), "bytes": strings.Repeat("\xff=\xff&", 199),
		"one": strings.Repeat("\xff", 7000)} {
		for _, format := range []string{"application/json", "text/plain", "text/html"} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("<", 2*exchange.MaxShown)))
			r.URL.RawQuery, r.RequestURI = query, "/?"+query
			r.Header.Set("Accept", format)
			for i := range 98 {
				r.Header.Set("X-"+strconv.Itoa(i), strings.Repeat("\xff", 300))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			size, _ := transport.MeasureHeader(r)
			if w.Code != http.StatusOK {
				t.Errorf("%s, %s: the status is %d", name, format, w.Code)
			}
			checkBound(t, w, int(size.Bytes), 2*exchange.MaxShown)
			if used := h.budget.Requests.Used.Load(); used != 0 {
				t.Errorf("%s, %s: %d bytes remain acquired", name, format, used)
			}
		}
	}
}
