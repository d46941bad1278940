package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func newTestBounds() *Bounds {
	return &Bounds{Budget: NewBudget(unlimitedMemory), OpenConnections: &atomic.Int64{},
		Reporter:       NewReporter(echotest.Quiet(), func(string) {}),
		MaxHeaderBytes: DefaultHeaderBytes, Log: echotest.Quiet()}
}

func TestListenDualStack_fallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		fallback bool
	}{
		"no IPv6":         {os.NewSyscallError("socket", syscall.EAFNOSUPPORT), true},
		"no IPv6 address": {os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), true},
		"in use":          {os.NewSyscallError("bind", syscall.EADDRINUSE), false},
	} {
		var networks []string
		listener, err := ListenDualStack(t.Context(), func(ctx context.Context, network, address string) (net.Listener, error) {
			networks = append(networks, network)
			if network == "tcp" {
				return nil, &net.OpError{Op: "listen", Err: c.err}
			}
			return (&net.ListenConfig{}).Listen(ctx, network, address)
		}, "127.0.0.1:0")
		if c.fallback != (err == nil) || c.fallback != (len(networks) == 2) {
			t.Errorf("%s: tried %v, %v", name, networks, err)
		}
		if err == nil {
			_ = listener.Close()
		}
	}
}

func TestBoundedListener_limit(t *testing.T) {
	inner, s := echotest.ListenLocally(t), newServed()
	listener := &boundedListener{Listener: inner, limit: 2, cost: Cost, bounds: s.bounds}
	accepted := make(chan net.Conn)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- connection
		}
	}()
	dial := func(refused int) {
		connection := echotest.Dial(t, inner.Addr().String())
		if n, err := connection.Read(make([]byte, 1)); n != 0 || err == nil || s.rejected(LimitConnections) != refused {
			t.Errorf("a connection over the limit gets %d bytes, %v; %d refused, want %d", n, err, s.rejected(LimitConnections), refused)
		}
	}
	echotest.Dial(t, inner.Addr().String())
	first := <-accepted
	echotest.Dial(t, inner.Addr().String())
	<-accepted
	dial(1)
	_ = first.Close()
	_ = first.Close() // counted once
	echotest.Dial(t, inner.Addr().String())
	<-accepted
	dial(2)
}

// TestBoundedListener_endOfSending checks that after CloseWrite, the client reads the end of the stream and can still send.
func TestBoundedListener_endOfSending(t *testing.T) {
	inner := echotest.ListenLocally(t)
	listener := NewBoundedListener(inner, Cost, newTestBounds())
	client := echotest.Dial(t, inner.Addr().String())
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	half, ok := accepted.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		t.Fatalf("a %T cannot end its sending side", accepted)
	}
	if rest, err := io.ReadAll(client); len(rest) > 0 || err != nil {
		t.Errorf("the client reads %q, %v", rest, err)
	}
	_, err = io.WriteString(client, "late")
	if got := make([]byte, 4); err != nil {
		t.Error(err)
	} else if _, err := io.ReadFull(accepted, got); string(got) != "late" {
		t.Errorf("the server reads %q, %v", got, err)
	}
	inMemory, _ := net.Pipe()
	if err := (&Connection{Conn: inMemory}).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a connection without sides: %v", err)
	}
}

// TestNewEvictingListener_acceptsProbeBeyondLimit opens more connections than the admin port keeps open.
func TestNewEvictingListener_acceptsProbeBeyondLimit(t *testing.T) {
	inner := echotest.ListenLocally(t)
	server, listener := &http.Server{Handler: http.NotFoundHandler()}, NewEvictingListener(inner, 3)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	var held []net.Conn
	for range 10 {
		held = append(held, echotest.Dial(t, inner.Addr().String()))
	}
	open := func() int {
		listener.open.mutex.Lock()
		defer listener.open.mutex.Unlock()
		return len(listener.open.open)
	}
	echotest.Until(t, "the other connections are closed", func() bool { return open() == 3 })
	if got := echotest.Status("http://" + inner.Addr().String()); got != http.StatusNotFound {
		t.Errorf("a probe has the response %d", got)
	}
	if _, err := held[0].Read(make([]byte, 1)); err == nil {
		t.Error("the oldest connection is kept")
	}
	for _, each := range held {
		_ = each.Close()
	}
	echotest.Until(t, "all connections are forgotten", func() bool { return open() == 0 })
}
