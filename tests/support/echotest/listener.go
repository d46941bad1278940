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

// Serve handles connections until the end of the test, and returns the server's URL.
func Serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener := ListenLocally(t)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				handle(connection)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}
