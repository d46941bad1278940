package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestHandler_echoesBodiesOfEachSize(t *testing.T) {
	server := serve(t, handlerOf(t))
	// Some sizes are close to this server's limits, or to 256 KiB: net/http closes a connection if more than 256 KiB of a body is unread.
	sizes := []int{0, 1, 25, 1000, exchange.MaxShown - 1, exchange.MaxShown, exchange.MaxShown + 1, 100_000, 250_000, 256 << 10, 300_000,
		1_000_000, exchange.MaxBody}
	for proto, client := range echotest.Clients(t) {
		for _, size := range sizes {
			sent := echotest.Payload(size)
			if got := echotest.Send(t, client, http.MethodPost, server.URL+"/-/body", sent); got.Text != sent || got.ContentLength != int64(size) {
				t.Errorf("%s: %d bytes were sent, %d came back, %d were announced", proto, size, len(got.Text), got.ContentLength)
			}
			got := echotest.Send(t, client, http.MethodPost, server.URL, sent)
			if size == 0 {
				if told := decode(t, got.Text).Request.Body; told != nil {
					t.Errorf("%s: the response to a request without a body reports %+v", proto, told)
				}
				continue
			}
			digest := sha256.Sum256([]byte(sent))
			told := *decode(t, got.Text).Request.Body
			want := exchange.Body{Size: int64(size), SHA256: hex.EncodeToString(digest[:]), Data: sent[:min(size, exchange.MaxShown)],
				Encoding: "utf-8", Truncated: size > exchange.MaxShown}
			if told != want {
				told.Data, want.Data = "", ""
				t.Errorf("%s: the response to %d bytes reports %+v, want %+v", proto, size, told, want)
			}
		}
	}
}

func TestHandler_echoesBodiesOfUnknownLength(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for path, size := range map[string]int{"/-/body": 1_000_000, "/": 1_000_000} {
			got := echotest.Open(t, client, http.MethodPost, server.URL+path,
				echotest.Unsized{Reader: strings.NewReader(echotest.Payload(size))}).Whole(t).Text
			if path == "/-/body" && got != echotest.Payload(size) {
				t.Errorf("%s: %d bytes", proto, len(got))
			}
			if path == "/" && (decode(t, got).Request.Body.Size != int64(size) || decode(t, got).Request.ContentLength != -1) {
				t.Errorf("%s: told %s", proto, got)
			}
		}
	}
}

func TestUnreadable_rejectsBodiesOverLimit(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for name, sent := range map[string]io.Reader{"announced": bytes.NewReader(make([]byte, exchange.MaxBody+1)),
			"chunked": echotest.Unsized{Reader: bytes.NewReader(make([]byte, exchange.MaxBody+1))}} {
			got := echotest.Open(t, client, http.MethodPost, server.URL+"/?echo.status=200", sent).Whole(t)
			if got.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got.Text, "larger than 8388608 bytes") {
				t.Errorf("%s, %s: one byte over the limit gets %d %q", proto, name, got.StatusCode, got.Text)
			}
		}
		response, err := client.Do(&http.Request{Method: http.MethodPost, URL: echotest.ParseURL(t, server.URL+"/-/body"),
			Body:          io.NopCloser(strings.NewReader("x")),
			ContentLength: maxStreamed + 1})
		if err == nil { // otherwise, the client detected that it could not send the whole body
			_ = response.Body.Close()
			if response.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: a stream over the limit gets %d", proto, response.StatusCode)
			}
		}
	}
	if counted(h.metrics.rejected, limitBody) < 4 {
		t.Errorf("%d bodies are counted as rejected", counted(h.metrics.rejected, limitBody))
	}
}

// TestUnreadable sends a malformed body, and uses Expect: 100-continue, as curl does, to announce a body over the limit.
func TestUnreadable(t *testing.T) {
	server := serve(t, handlerOf(t))
	for sent, status := range map[string]string{
		"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n":          "400",
		"Expect: 100-continue\r\nContent-Length: 8388609\r\n\r\n": "413",
	} {
		got := echotest.Exchanged(t, echotest.Dial(t, server.URL), "POST / HTTP/1.1\r\nHost: a\r\n"+sent)
		if !strings.HasPrefix(got, "HTTP/1.1 "+status+" ") {
			t.Errorf("%q gets %q, want %s", sent, got, status)
		}
	}
}
