package echotest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// MemoryListener accepts in-memory connections, for tests in synctest bubbles.
type MemoryListener struct {
	// Dialed is the number of connections so far.
	Dialed atomic.Int64
	// Connections holds the connections that Accept returns next.
	Connections chan net.Conn
	// Closed is closed when the listener is closed.
	Closed chan struct{}
	close  func()
}

func NewMemoryListener() *MemoryListener {
	l := &MemoryListener{Connections: make(chan net.Conn), Closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.Closed) })
	return l
}

// Accept implements net.Listener.
func (l *MemoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.Connections:
		return connection, nil
	case <-l.Closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *MemoryListener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *MemoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// Dial connects to the server, and closes the connection at the end of the test.
func (l *MemoryListener) Dial(t *testing.T) net.Conn {
	t.Helper()
	l.Dialed.Add(1)
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	select {
	case l.Connections <- far:
	case <-l.Closed:
		t.Fatal("the server no longer listens")
	}
	return near
}

// HTTP2Client returns a client for the server. Its flow-control windows are small, so that it does not read ahead.
func (l *MemoryListener) HTTP2Client(t *testing.T) *http.Client {
	client := &http.Transport{Protocols: OnlyHTTP2(), HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.Dial(t), nil }}
	t.Cleanup(client.CloseIdleConnections)
	return &http.Client{Transport: client}
}

// Silent returns the URL of a server that does not respond to connection attempts, as if a NetworkPolicy dropped the packets. The server's
// queue of pending connections is full.
func Silent(t *testing.T) string {
	t.Helper()
	listener := ListenLocally(t)
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		cancel()
		if err != nil {
			return "http://" + listener.Addr().String()
		}
		t.Cleanup(func() { _ = connection.Close() })
	}
	t.Fatal("the queue never becomes full")
	return ""
}

// Refusing returns the URL of a server that refuses connections.
func Refusing(t *testing.T) string {
	t.Helper()
	listener := ListenLocally(t)
	_ = listener.Close()
	return "http://" + listener.Addr().String()
}
