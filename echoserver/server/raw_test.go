package server

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// latin1 is text that is not valid UTF-8.
const latin1 = "caf\xe9"

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

// TestRawList sends values that are not UTF-8 in every part of a request that can contain them, over both protocols.
func TestRawList(t *testing.T) {
	server := serve(t, handlerOf(t))
	raw := func(where, name string, value string) describe.Raw {
		return describe.Raw{Where: where, Name: name, Base64: []byte(value)}
	}
	path := "/" + latin1 + "?q=%E9"
	text := echotest.Exchanged(t, echotest.Dial(t, server.URL), "POST "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Name: "+latin1+
		"\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n0\r\nX-Sum: "+latin1+"\r\n\r\n")
	_, body, _ := strings.Cut(text, "\r\n\r\n")
	want := describe.RawList{raw("path", "", path), raw("header", "X-Name", latin1), raw("trailer", "X-Sum", latin1), raw("query", "q", "\xe9")}
	if diff := cmp.Diff(want, decode(t, body).Request.Raw); diff != "" {
		t.Errorf("HTTP/1.1 (-want +got):\n%s", diff)
	}
	connection := echotest.Dial(t, server.URL)
	got := decode(t, sentOverHTTP2(t, connection, echotest.HeaderBlockTo("a\xff.example", "G\xe9T", path, "x-name", latin1)))
	want = describe.RawList{raw("path", "", path), raw("host", "", "a\xff.example"), raw("method", "", "G\xe9T"),
		raw("header", "X-Name", latin1), raw("query", "q", "\xe9")}
	if diff := cmp.Diff(want, got.Request.Raw); diff != "" || got.Host != "a\uFFFD.example" {
		t.Errorf("HTTP/2: the host is %s (-want +got):\n%s", got.Host, diff)
	}
}

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
