package websocket

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const (
	// messageTimeout is how long a client may take to send a message.
	messageTimeout = 2 * time.Minute
	// closeTimeout is how long the server waits for a client to close a WebSocket, and for what is being sent when the server stops.
	closeTimeout = 5 * time.Second
)

// sessionConnection is the connection of a WebSocket. Its timers close the WebSocket of a client that takes too long.
type sessionConnection struct {
	*connection.Connection
	idle    *time.Timer // runs between frames
	stall   *time.Timer // runs within a frame or message, since its last byte
	message *time.Timer // runs within a message, since its first frame
	early   bool        // a part of a frame was received before the connection was hijacked
	failed  atomic.Bool // what the client still sends must not be processed (RFC 6455, 7.1.7)
	ends    sync.Once
}

// startTimers starts the timers. idle is called if no frame begins for IdleTimeout, and late if a message takes too long.
func (c *sessionConnection) startTimers(idle, late func()) {
	c.idle = time.AfterFunc(connection.IdleTimeout, idle)
	c.stall = time.AfterFunc(exchange.StallTimeout, late)
	c.message = time.AfterFunc(messageTimeout, late)
	c.messageReceived()
	if c.early {
		c.partReceived()
	}
}

// stopTimers is called when the WebSocket has ended.
func (c *sessionConnection) stopTimers() {
	c.idle.Stop()
	c.stall.Stop()
	c.message.Stop()
}

// messageReceived is called when no message is being received.
func (c *sessionConnection) messageReceived() {
	c.message.Stop()
	c.awaitFrame()
}

// awaitFrame is called when a frame has been received. A part of the next frame that came with it counts as idle. Within a message, the
// time for the whole message goes on.
func (c *sessionConnection) awaitFrame() {
	c.stall.Stop()
	c.idle.Reset(connection.IdleTimeout)
}

// partReceived is called when a part of a frame has been received.
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
		err = net.ErrClosed // the library would take io.EOF for the end of a message
	}
	return n, err
}

// end lets reading and writing end after closeTimeout. Only the first call counts, which returns true.
func (c *sessionConnection) end() (first bool) {
	c.ends.Do(func() {
		first = true
		_ = c.SetDeadline(time.Now().Add(closeTimeout)) // if it fails, so do reading and writing
	})
	return first
}

// Close implements net.Conn. It waits until the client has closed: what the client sends to a connection that is closed would reset it,
// and the client might not receive the close frame (RFC 6455, 7.1.1).
func (c *sessionConnection) Close() error {
	c.end()
	if c.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, c.Conn) // the connection is closed afterwards
	}
	return c.Connection.Close()
}
