package echotest

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Dial connects to a server. The connection has a deadline, so that no test waits forever.
func Dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// ListenLocally listens on a free port until the end of the test.
func ListenLocally(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// ParseURL parses a URL, or fails the test.
func ParseURL(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
