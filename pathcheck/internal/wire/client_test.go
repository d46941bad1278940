package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestClient_SendNext_setsDeadline checks that each request on a connection has its own time limit. The server responds to the second
// request after the time limit for the first one.
func TestClient_SendNext_setsDeadline(t *testing.T) {
	const limit = time.Second
	target, err := ParseTarget(echotest.Serve(t, func(c net.Conn) {
		reader, began := bufio.NewReader(c), time.Now()
		for wait := range 2 {
			if _, err := http.ReadRequest(reader); err != nil {
				return
			}
			<-time.After(time.Until(began.Add(time.Duration(wait) * (limit + 100*time.Millisecond))))
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n") // the client may have disconnected
		}
	}), "")
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Target: target, Limits: NewLimits()}
	s, err := c.Open(t.Context(), &Request{Path: "/pathcheck", Timeout: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	first := s.Nonce
	if _, err := c.Read(s, MaxBody); err != nil {
		t.Fatal(err)
	}
	if err := c.SendNext(s, &Request{Path: "/pathcheck"}); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Read(s, MaxBody); err != nil || s.Nonce == first || c.Limits.Sent() != 2 {
		t.Errorf("%+v, %v, after %d requests", a, err, c.Limits.Sent())
	}
}

func TestLimits(t *testing.T) {
	l := NewLimits()
	for range MaxRequests {
		if err := l.Count(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Begin(t.Context()); !IsLimit(err) {
		t.Errorf("the error is %v", err)
	}
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	c := &countedConn{near, l}
	l.bytes.Store(MaxBytes)
	if _, err := c.Read(make([]byte, 1)); !IsLimit(err) {
		t.Errorf("the error of reading is %v", err)
	}
	if _, err := fmt.Fprint(c, "x"); !IsLimit(err) {
		t.Errorf("the error of writing is %v", err)
	}
}

// TestClient_DoHTTP2_sendsOnce sends requests to servers that repeatedly ask for a retry.
func TestClient_DoHTTP2_sendsOnce(t *testing.T) {
	for name, each := range map[string]struct {
		refuse  func(*http2.Framer, uint32) error
		refusal string
	}{
		"the server goes away":   {func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) }, NoHTTP2},
		"the stream is refused":  {func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, "reset"},
		"HTTP/1.1 is required":   {func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeHTTP11Required) }, NoHTTP2},
		"the connection is lost": {func(*http2.Framer, uint32) error { return nil }, NoHTTP2},
	} {
		var received atomic.Int64
		target, err := ParseTarget(echotest.Serve(t, refusing(&received, each.refuse)), "")
		if err != nil {
			t.Fatal(err)
		}
		c := &Client{Target: target, Limits: NewLimits()}
		if _, err := c.DoHTTP2(t.Context(), &Request{Path: "/pathcheck"}); err == nil || RefusalOf(err) != each.refusal || received.Load() != 1 ||
			c.Limits.Taken() > 0 {
			t.Errorf("%s: %d requests, %d places are taken, %v", name, received.Load(), c.Limits.Taken(), err)
		}
	}
}

// refusing returns an HTTP/2 server that counts requests, refuses each one, and closes the connection.
func refusing(received *atomic.Int64, refuse func(*http2.Framer, uint32) error) func(net.Conn) {
	return func(connection net.Conn) {
		framer := http2.NewFramer(connection, connection)
		if _, err := io.ReadFull(connection, make([]byte, len(http2.ClientPreface))); err != nil || framer.WriteSettings() != nil {
			return
		}
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if header, ok := frame.(*http2.HeadersFrame); ok {
				received.Add(1)
				_ = refuse(framer, header.StreamID) // the client may have disconnected
				return
			}
		}
	}
}

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ url, address, dial, host, base string }{
		{"http://a", "", "a:80", "a", ""}, {"https://a/shop/", "", "a:443", "a", "/shop"},
		{"http://[::1]:8080/", "", "[::1]:8080", "[::1]:8080", ""},
		{"http://a:81/b", "10.0.0.1", "10.0.0.1:81", "a:81", "/b"}, {"https://a", "10.0.0.1:444", "10.0.0.1:444", "a", ""},
		{"https://a", "::1", "[::1]:443", "a", ""},
		{"http://a:/", "b.example:81", "b.example:81", "a", ""}, {"http://a", "[fe80::1%lo]:81", "[fe80::1%lo]:81", "a", ""},
		{"http://a", "[::1]", "[::1]:80", "a", ""},
		{"http://[fe80::1%25lo]:81/a", "", "[fe80::1%lo]:81", "[fe80::1]:81", "/a"},
	} {
		got, err := ParseTarget(c.url, c.address)
		if err != nil || got.Dial != c.dial || got.Host != c.host || got.Base != c.base {
			t.Errorf("%s at %q: %+v, %v", c.url, c.address, got, err)
		}
	}
	for _, address := range []string{":8080", "1.2.3.4:", "https://b", "b/c", "b:c", "b:0", "b:70000", "[::1]:", "a b"} {
		if got, err := ParseTarget("http://a", address); err == nil {
			t.Errorf("%q is parsed as %+v", address, got)
		}
	}
	for _, url := range []string{"", "a", "ftp://a", "http://", "http://a/?b", "http://a/#b", "http://u:p@a/", "http://a/../b",
		"http://a/b/..", "http://a/%2e%2e/", "http://a b/"} {
		if got, err := ParseTarget(url, ""); err == nil {
			t.Errorf("%q is parsed as %+v", url, got)
		}
	}
}
