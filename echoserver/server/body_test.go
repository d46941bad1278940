package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

func TestBodiesAreEchoed(t *testing.T) {
	server := serve(t, handlerOf(t))
	// Sizes around what net/http treats specially (256 kB of unread body) and around the limits of this server.
	sizes := []int{0, 1, 25, 1000, maxShown - 1, maxShown, maxShown + 1, 100_000, 250_000, 256 << 10, 300_000, 1_000_000, maxBody}
	for proto, client := range echotest.Clients(t) {
		for _, size := range sizes {
			sent := echotest.Payload(size)
			if got := echotest.Send(t, client, http.MethodPost, server.URL+"/-/body", sent); got.Text != sent || got.ContentLength != int64(size) {
				t.Errorf("%s: of %d bytes %d came back, %d announced", proto, size, len(got.Text), got.ContentLength)
			}
			got := echotest.Send(t, client, http.MethodPost, server.URL, sent)
			if size == 0 {
				if told := decode(t, got.Text).Request.Body; told != nil {
					t.Errorf("%s: of no body it is told %+v", proto, told)
				}
				continue
			}
			digest := sha256.Sum256([]byte(sent))
			told := *decode(t, got.Text).Request.Body
			want := body{Size: int64(size), SHA256: hex.EncodeToString(digest[:]), Data: sent[:min(size, maxShown)], Encoding: "utf-8", Truncated: size > maxShown}
			if told != want {
				told.Data, want.Data = "", ""
				t.Errorf("%s: of %d bytes it is told %+v, want %+v", proto, size, told, want)
			}
		}
	}
}

func TestBodiesOfUnknownLength(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for path, size := range map[string]int{"/-/body": 1_000_000, "/": 1_000_000} {
			got := echotest.Open(t, client, http.MethodPost, server.URL+path, echotest.Unsized{Reader: strings.NewReader(echotest.Payload(size))}).Whole(t).Text
			if path == "/-/body" && got != echotest.Payload(size) {
				t.Errorf("%s: %d bytes", proto, len(got))
			}
			if path == "/" && (decode(t, got).Request.Body.Size != int64(size) || decode(t, got).Request.ContentLength != -1) {
				t.Errorf("%s: told %s", proto, got)
			}
		}
	}
}

func TestBodyLimit(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for name, sent := range map[string]io.Reader{"announced": bytes.NewReader(make([]byte, maxBody+1)), "chunked": echotest.Unsized{Reader: bytes.NewReader(make([]byte, maxBody+1))}} {
			got := echotest.Open(t, client, http.MethodPost, server.URL+"/?echo.status=200", sent).Whole(t)
			if got.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got.Text, "larger than 8388608 bytes") {
				t.Errorf("%s, %s: one byte over the limit is answered %d %q", proto, name, got.StatusCode, got.Text)
			}
		}
		response, err := client.Do(&http.Request{Method: http.MethodPost, URL: echotest.ParseURL(t, server.URL+"/-/body"), Body: io.NopCloser(strings.NewReader("x")),
			ContentLength: maxStreamed + 1})
		if err == nil { // the client may see first that it could not send what it announced
			_ = response.Body.Close()
			if response.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: a stream over the limit is answered %d", proto, response.StatusCode)
			}
		}
	}
	if counted(h.metrics.limits, limitBody) < 4 {
		t.Errorf("%d bodies are counted as limited", counted(h.metrics.limits, limitBody))
	}
}

// TestBodiesThatAreRefused sends a body that breaks off, and asks before it sends one over the limit, as curl does.
func TestBodiesThatAreRefused(t *testing.T) {
	server := serve(t, handlerOf(t))
	for sent, status := range map[string]string{
		"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n":          "400",
		"Expect: 100-continue\r\nContent-Length: 8388609\r\n\r\n": "413",
	} {
		got := echotest.Exchanged(t, echotest.Dial(t, server.URL), "POST / HTTP/1.1\r\nHost: a\r\n"+sent)
		if !strings.HasPrefix(got, "HTTP/1.1 "+status+" ") {
			t.Errorf("%q is answered %q, want %s", sent, got, status)
		}
	}
}

func TestShown(t *testing.T) {
	for name, c := range map[string]struct {
		data           string
		isCut          bool
		text, encoding string
	}{
		"text":                {"añb", false, "añb", "utf-8"},
		"bytes":               {"a\xffb", false, base64.StdEncoding.EncodeToString([]byte("a\xffb")), "base64"},
		"cut within a rune":   {"a\xe2\x82", true, "a", "utf-8"},
		"cut between runes":   {"a\xe2\x82\xac", true, "a\xe2\x82\xac", "utf-8"},
		"ends within a rune":  {"a\xe2\x82", false, base64.StdEncoding.EncodeToString([]byte("a\xe2\x82")), "base64"},
		"cut bytes":           {"\xff\xfe\xe2", true, base64.StdEncoding.EncodeToString([]byte("\xff\xfe\xe2")), "base64"},
		"a zero byte":         {"\x00", false, "AA==", "base64"}, // JSON would need six bytes for one
		"an escape character": {"a\x1b[0m", false, base64.StdEncoding.EncodeToString([]byte("a\x1b[0m")), "base64"},
		"lines and tabs":      {"a\tb\r\nc\x7f", false, "a\tb\r\nc\x7f", "utf-8"},
	} {
		if text, encoding := shown([]byte(c.data), c.isCut); text != c.text || encoding != c.encoding {
			t.Errorf("%s: %q in %s", name, text, encoding)
		}
	}
}

func TestDigestBodyPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 10, maxShown + 10} {
		if _, err := digested(io.MultiReader(strings.NewReader(echotest.Payload(size)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", size, err)
		}
	}
}

// TestDigestBodyAtTheLimit reads bodies around the size that is shown, with a character across the limit.
func TestDigestBodyAtTheLimit(t *testing.T) {
	const limit = 64 << 10
	base := strings.Repeat("x", limit-4)
	for name, c := range map[string]struct {
		sent, data, encoding string
		truncated            bool
	}{
		"one byte less":                  {base + "abc", base + "abc", "utf-8", false},
		"the limit":                      {base + "abcd", base + "abcd", "utf-8", false},
		"one byte more":                  {base + "abcde", base + "abcd", "utf-8", true},
		"a whole character at the limit": {base + "\U0001f600", base + "\U0001f600", "utf-8", false},
		"a whole character, and more":    {base + "\U0001f600e", base + "\U0001f600", "utf-8", true},
		"the last byte across it":        {base + "a\U0001f600", base + "a", "utf-8", true},
		"all but the first byte across":  {base + "abc\U0001f600", base + "abc", "utf-8", true},
		"half of a character at the end": {base + "ab\xc3", base + "ab\xc3", "base64", false},
		"continuations without a start":  {base + "\x80\x80\x80\x80x", base + "\x80\x80\x80\x80", "base64", true},
		"bytes that are not at the end":  {"\xff" + base + "abc" + "xyz", "\xff" + base + "abc", "base64", true},
	} {
		digest := sha256.Sum256([]byte(c.sent))
		want := body{Size: int64(len(c.sent)), SHA256: hex.EncodeToString(digest[:]), Data: c.data, Encoding: c.encoding, Truncated: c.truncated}
		if c.encoding == "base64" {
			want.Data = base64.StdEncoding.EncodeToString([]byte(c.data))
		}
		got, err := digested(iotest.HalfReader(strings.NewReader(c.sent)))
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, or the body of %d bytes is not told as it is", name, err, len(c.sent))
		}
	}
}

// digested reads and describes a body as readBody does, without a budget.
func digested(source io.Reader) (*body, error) {
	beginning, err := readBeginning(source, func(int64) bool { return true })
	if err != nil || len(beginning) < maxShown {
		source = http.NoBody
	}
	if err != nil {
		return nil, err
	}
	return digestBody(beginning, source)
}
