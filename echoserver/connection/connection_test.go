package connection

import (
	"errors"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

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
	c, ok := accept(far, Cost, b, func() {})
	if !ok {
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

func TestConnection_resetWithoutTCP(t *testing.T) {
	inMemory, _ := net.Pipe()
	if err := (&Connection{Conn: inMemory}).SendReset(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the error is %v", err)
	}
}
