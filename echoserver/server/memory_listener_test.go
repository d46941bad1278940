package server

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// memoryListener accepts connections that exist only in memory, so that a test in a synctest bubble can use them.
type memoryListener struct {
	dialled     atomic.Int64
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

// serveInMemory serves a handler as the program does, over connections in memory.
func serveInMemory(t *testing.T, h http.Handler) (*http.Server, *memoryListener) {
	t.Helper()
	listener := newMemoryListener()
	server := newServer(h, defaultHeaderBytes, quiet)
	bounded := newBoundedListener(listener, connectionCost, boundsOf(metricsOf(newBudget(unlimitedMemory))))
	go func() { _ = server.Serve(bounded) }()
	t.Cleanup(func() { _ = server.Close() })
	return server, listener
}

func newMemoryListener() *memoryListener {
	l := &memoryListener{connections: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.close()
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// dial connects to the server, and closes the connection at the end of the test.
func (l *memoryListener) dial(t *testing.T) net.Conn {
	t.Helper()
	l.dialled.Add(1)
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	select {
	case l.connections <- far:
	case <-l.closed:
		t.Fatal("the server does not listen any more")
	}
	return near
}
