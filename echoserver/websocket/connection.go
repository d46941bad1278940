package websocket

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// messageTimeout is the time limit for receiving a message.
	messageTimeout = 2 * time.Minute
	// closeTimeout is how long the server waits for a client to close a WebSocket, and for data in transit when the server stops.
	closeTimeout = 5 * time.Second
)

// sessionConnection is the connection of a WebSocket. Its timers close the WebSocket if the client takes too long.
type sessionConnection struct {
	*transport.Connection
	idle    *time.Timer // runs for IdleTimeout while no frame is in progress
	stall   *time.Timer // restarts whenever part of a frame is received
	message *time.Timer // runs from the first frame of a message to the last
	early   bool        // whether part of a frame was received before the connection was hijacked
	failed  atomic.Bool // whether to discard further data from the client (RFC 6455, 7.1.7)
	ends    sync.Once
}

// messageReceived must be called at the start and after each received message.
func (c *sessionConnection) messageReceived() {
	c.message.Stop()
	c.awaitFrame()
}

// awaitFrame must be called after each received frame. The connection counts as idle even if part of the next frame has arrived. In the
// middle of a message, the timer for the message keeps running.
func (c *sessionConnection) awaitFrame() {
	c.stall.Stop()
	c.idle.Reset(transport.IdleTimeout)
}

// partReceived must be called when part of a frame has been received.
func (c *sessionConnection) partReceived() {
	c.idle.Stop()
	c.stall.Reset(exchange.StallTimeout)
}

// Read implements net.Conn.
func (c *sessionConnection) Read(p []byte) (int, error) {
	if c.failed.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.Connection.Read(p)
	if n > 0 {
		c.partReceived()
	}
	if err != nil {
		err = net.ErrClosed // the library would mistake io.EOF for the end of a message
	}
	return n, err
}

// end makes reads and writes fail after closeTimeout. The first call returns true. Later calls have no effect, and return false.
func (c *sessionConnection) end() (first bool) {
	c.ends.Do(func() {
		first = true
		_ = c.SetDeadline(time.Now().Add(closeTimeout)) // if this fails, so do reading and writing
	})
	return first
}

// Close implements net.Conn. It waits until the client has closed the connection. If the server closed first, data from the client would
// cause a reset, and the client might not receive the close frame (RFC 6455, 7.1.1).
func (c *sessionConnection) Close() error {
	c.end()
	if c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c.Conn) // the connection is closed next
	}
	return c.Connection.Close()
}
