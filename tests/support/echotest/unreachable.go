package echotest

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"
)

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
