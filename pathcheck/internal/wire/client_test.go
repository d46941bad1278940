package wire

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

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
