package transport

import (
	"errors"
	"io"
	"math"
	"net"
	"runtime/debug"
	"testing"

	"golang.org/x/net/http2"
)

func TestNewBudget_followsFromMemory(t *testing.T) {
	b := NewBudget(64 << 20)
	if b.Connections.Limit != 16<<20 || b.Requests.Limit != 16<<20 {
		t.Errorf("of 64 MiB, connections may hold %d and requests %d bytes", b.Connections.Limit, b.Requests.Limit)
	}
	before := debug.SetMemoryLimit(100 << 20)
	limited := AvailableMemory()
	debug.SetMemoryLimit(math.MaxInt64)
	unlimited := AvailableMemory()
	debug.SetMemoryLimit(before)
	if limited != 100<<20 || unlimited != unlimitedMemory {
		t.Errorf("the memory is %d with a limit of 100 MiB, %d without one", limited, unlimited)
	}
}

func TestPool(t *testing.T) {
	p := &Pool{Limit: 100}
	for i, c := range []struct {
		take  func(int64) bool
		bytes int64
		ok    bool
		used  int64
	}{
		{p.AcquireLarge, 76, false, 0}, {p.AcquireLarge, 75, true, 75}, {p.AcquireLarge, 1, false, 75}, {p.Acquire, 26, false, 75},
		{p.Acquire, 25, true, 100}, {p.Acquire, 1, false, 100},
	} {
		if ok := c.take(c.bytes); ok != c.ok || p.Used.Load() != c.used {
			t.Errorf("step %d: %t, and %d bytes are used; want %t and %d", i, ok, p.Used.Load(), c.ok, c.used)
		}
	}
	p.Release(100)
	if !p.AcquireLarge(75) {
		t.Error("released bytes cannot be acquired")
	}
}

// TestConnection_rejectedEnds checks that the server reads no more data from a rejected connection, even if memory becomes available later.
// After its check for HTTP/2, net/http reads again, and would mistake the frames for a request line.
func TestConnection_rejectedEnds(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.WriteString(near, http2.ClientPreface+"frames") // far reads it
		_, _ = io.WriteString(near, "more")                       // fails when far is closed
	}()
	b := newTestBounds()
	b.Budget = NewBudget(4 * (Cost + 1))
	c := &Connection{Conn: far, bounds: b, release: func() {}}
	c.inHeader.Store(true)
	if !c.acquire(&b.Budget.Connections, &c.cost, Cost) {
		t.Fatal("the connection is not accepted")
	}
	buffer := make([]byte, 1024)
	_, first := c.Read(buffer)
	b.Budget.Connections.Limit = unlimitedMemory
	if n, err := c.Read(buffer); n != 0 || !errors.Is(first, errRejected) || !errors.Is(err, errRejected) {
		t.Errorf("reading returns %v, then %q and %v", first, buffer[:n], err)
	}
	_ = far.Close() // never fails
}
