package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dial connects to a server; whatever comes must come in time.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return connection
}

// listenLocally listens on a free port until the end of the test.
func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDualStackFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		fallback bool
	}{
		"no IPv6":         {os.NewSyscallError("socket", syscall.EAFNOSUPPORT), true},
		"no IPv6 address": {os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), true},
		"in use":          {os.NewSyscallError("bind", syscall.EADDRINUSE), false},
	} {
		var networks []string
		listener, err := dualStack(t.Context(), func(ctx context.Context, network, address string) (net.Listener, error) {
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

func TestDualStackServesBoth(t *testing.T) {
	listener, err := dualStack(t.Context(), (&net.ListenConfig{}).Listen, ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dial(t, "127.0.0.1:"+port(listener))
	if loopback, err := net.Listen("tcp6", "[::1]:0"); err == nil { // this machine has IPv6
		_ = loopback.Close()
		dial(t, "[::1]:"+port(listener))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	inner, m := listenLocally(t), metricsOf(newBudget(unlimitedMemory))
	refused := func() int { return counted(m.limits, limitConnections) }
	listener := &boundedListener{Listener: inner, limit: 2, cost: connectionCost, bounds: boundsOf(m)}
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
	accept := func() net.Conn {
		select {
		case connection := <-accepted:
			return connection
		case <-time.After(patience):
			t.Fatal("a connection is not accepted")
			return nil
		}
	}
	address := inner.Addr().String()
	dial(t, address)
	first := accept()
	dial(t, address)
	accept()
	third := dial(t, address)
	if n, err := third.Read(make([]byte, 1)); n != 0 || err == nil || refused() != 1 {
		t.Errorf("the third gets %d bytes, %v; %d refused", n, err, refused())
	}
	_ = first.Close()
	_ = first.Close() // counted once
	dial(t, address)
	accept()
	if fifth := dial(t, address); fifth != nil {
		if _, err := fifth.Read(make([]byte, 1)); err == nil || refused() != 2 {
			t.Errorf("the fifth: %v; %d refused", err, refused())
		}
	}
}

// TestEndOfSending ends the sending side of an accepted connection: the client reads the end, and can still send.
func TestEndOfSending(t *testing.T) {
	inner := listenLocally(t)
	listener := newBoundedListener(inner, connectionCost, boundsOf(metricsOf(newBudget(unlimitedMemory))))
	client := dial(t, inner.Addr().String())
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
	if err := (&connection{Conn: inMemory}).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a connection without sides: %v", err)
	}
}
