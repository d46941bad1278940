package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// lingerTimeout is how long the end of a refused request is awaited. Otherwise a reset could destroy the response on its way.
const lingerTimeout = 500 * time.Millisecond

// errRefused ends a connection whose request was refused before it was parsed. It has the type to which net/http does not respond.
var errRefused = &net.OpError{Op: "read", Err: errors.New("the request was refused")}

// bounds is what the connections of the public ports share.
type bounds struct {
	metrics        *metrics
	maxHeaderBytes int
	log            *slog.Logger
}

// connection is a connection of a client. It accounts for what a client makes the server hold before a handler knows of it, and bounds
// the number of fields and the request line of HTTP/1, which net/http does not bound.
type connection struct {
	net.Conn
	*bounds
	left func() // gives the place of the connection back, once

	closed     atomic.Bool
	cost       atomic.Int64 // taken from budget.connections, in bytes
	heldHeader atomic.Int64 // taken from budget.requests, in bytes
	inProgress atomic.Int64 // requests
	refusing   atomic.Int64 // requests that are refused because of the budget

	inHeader atomic.Bool // of HTTP/1

	// What follows is used by one goroutine at a time: that which reads.
	isHTTP2 bool
	header  rawHeader
	refused error // ends the connection
}

// accept returns the connection of a client, or false if the budget does not allow one more. left is called when it is closed.
func accept(c net.Conn, cost int64, b *bounds, left func()) (*connection, bool) {
	accepted := &connection{Conn: c, bounds: b, left: sync.OnceFunc(left)}
	accepted.inHeader.Store(true)
	return accepted, accepted.take(&b.metrics.budget.connections, &accepted.cost, cost)
}

// take takes bytes until the connection is closed, and adds them to held.
func (c *connection) take(p *pool, held *atomic.Int64, bytes int64) bool {
	if !p.take(bytes) {
		return false
	}
	held.Add(bytes)
	if c.closed.Load() { // by another goroutine, which may have missed them
		c.giveAll()
	}
	return true
}

func (c *connection) giveAll() {
	c.metrics.budget.connections.give(c.cost.Swap(0))
	c.giveHeader()
}

func (c *connection) giveHeader() { c.metrics.budget.requests.give(c.heldHeader.Swap(0)) }

type connectionKey struct{}

// withConnection is for http.Server.ConnContext, so that handlers find the connection of a request.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request, or nil if there is none.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// trackState is for http.Server.ConnState: when an HTTP/1 connection becomes idle, the next header begins.
func trackState(c net.Conn, state http.ConnState) {
	if c, ok := c.(*connection); ok && state == http.StateIdle && !c.isHTTP2 {
		c.giveHeader()
		c.header.restart()
		c.inHeader.Store(true)
	}
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	if c.refused != nil { // net/http reads again after it has looked for HTTP/2
		return 0, c.refused
	}
	if c.isHTTP2 {
		// net/http decodes the headers of up to five times as many requests as a connection can have in progress, if clients reset them.
		// Their handlers run first, so that they end or are accounted for.
		runtime.Gosched()
	}
	n, err := c.Conn.Read(p)
	switch {
	case n == 0 || c.isHTTP2:
	case c.inHeader.Load():
		c.refused = c.meter(p[:n])
	case len(p) == 1: // net/http waits for the next request while it handles one
		c.header.ahead = p[0]
		c.header.hasAhead = true
	default: // a body, with which the beginning of the next request may come
		c.header.nextIsPartial = true
	}
	if c.refused != nil {
		return 0, c.refused
	}
	return n, err
}

// meter accounts for a piece of a header of HTTP/1, or finds that the protocol is HTTP/2.
func (c *connection) meter(piece []byte) error {
	rest := c.header.add(piece)
	c.inHeader.Store(!c.header.ended)
	c.header.nextIsPartial = len(rest) > 0
	if c.header.isPreface() {
		return c.upgrade()
	}
	size := c.header.size()
	if rejected := checkHeader(size, c.maxHeaderBytes); rejected != nil {
		rejected.log(c.log, c.RemoteAddr().String(), c.header.longestField())
		return c.refuse(rejected.status, limitHeader, rejected.reason)
	}
	more := max(0, size.bytes-includedHeader)*headerFactor - c.heldHeader.Load()
	if more > 0 && !c.take(&c.metrics.budget.requests, &c.heldHeader, more) {
		return c.refuse(http.StatusServiceUnavailable, limitMemory, overBudget)
	}
	return nil
}

// upgrade accounts for a connection of HTTP/2.
func (c *connection) upgrade() error {
	if !c.take(&c.metrics.budget.connections, &c.cost, http2Cost+int64(decoderFactor*c.maxHeaderBytes)) {
		c.metrics.limited(limitMemory)
		return errRefused
	}
	c.isHTTP2 = true
	return nil
}

// refuse responds to a request that has not been parsed.
func (c *connection) refuse(status int, reason, why string) error {
	c.metrics.limited(reason)
	text := "echo-server: " + why + "\n"
	retry := ""
	if status == http.StatusServiceUnavailable {
		retry = "Retry-After: 1\r\n"
	}
	err := c.SetDeadline(time.Now().Add(lingerTimeout))
	_, written := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
		"%sConnection: close\r\n\r\n%s", status, http.StatusText(status), plainText, len(text), retry, text)
	if errors.Join(err, written) == nil {
		c.linger()
	}
	return errRefused
}

// linger ends the sending side, and waits until the client has the response. What the client still sends is not parsed.
func (c *connection) linger() {
	if errors.Join(c.CloseWrite(), c.SetReadDeadline(time.Now().Add(lingerTimeout))) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.Conn, int64(c.maxHeaderBytes))) // until the client closes
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.closed.Store(true)
	c.giveAll()
	c.left()
	return c.Conn.Close()
}

// CloseWrite ends the sending side, after which the client can still be read. net/http and WebSockets do so before they close a
// connection whose client may be sending: it would be reset, and the client might lose the end of the response.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// reset makes the next Close send a TCP reset.
func (c *connection) reset() error {
	under := c.Conn
	for {
		switch each := under.(type) {
		case *net.TCPConn:
			return each.SetLinger(0)
		case interface{ NetConn() net.Conn }:
			under = each.NetConn()
		default:
			return errors.ErrUnsupported
		}
	}
}
