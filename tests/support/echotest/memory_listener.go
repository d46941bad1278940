package echotest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

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
