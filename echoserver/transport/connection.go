// Package transport accepts connections, with and without TLS, and limits the resources that clients can hold: connections, headers, and
// the memory for connections, headers, and requests. It counts and logs the connections and requests that net/http and crypto/tls reject
// before a handler is called, and reloads the certificate when its files change.
package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// PlainText is the media type of plain text.
const PlainText = "text/plain; charset=utf-8"

// These constants are the reasons that metrics report for exceeded limits.
const (
	LimitConnections = "connections" // too many connections
	LimitHeader      = "header"      // a header that is too long or has too many fields
	LimitMemory      = "memory"      // the budget is used up
)

const (
	// HeaderTimeout is how long a client may take to send an HTTP/1 header or complete a TLS handshake.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is longer than the idle timeout of load balancers, so that they, not the server, close idle connections.
	IdleTimeout = 620 * time.Second
	// lingerTimeout is how long the server continues to read after it has rejected a request. If it stopped at once, a reset could discard
	// the response before the client reads it.
	lingerTimeout = 500 * time.Millisecond
)

// errRejected makes net/http close a connection whose request was rejected before parsing. net/http does not respond after such an error.
var errRejected = &net.OpError{Op: "read", Err: errors.New("the request was rejected")}

// Bounds holds the limits and counters that all connections to the public ports share.
type Bounds struct {
	Budget          *Budget
	OpenConnections *atomic.Int64
	Reporter        *Reporter // counts the requests that are rejected because of a limit, and reports the requests that net/http rejects
	MaxHeaderBytes  int
	Log             *slog.Logger
}

// Connection is a client's connection. It counts the memory that the server holds for the client before a handler is called. In HTTP/1, it
// limits the number of header fields and the length of the request line, because net/http does not.
type Connection struct {
	net.Conn
	bounds  *Bounds
	release func() // called once, when the connection is closed

	closed         atomic.Bool
	cost           atomic.Int64 // acquired from Budget.Connections, in bytes
	reservedHeader atomic.Int64 // acquired from Budget.Requests, in bytes
	inProgress     atomic.Int64 // requests
	rejecting      atomic.Int64 // requests that are rejected because of the budget

	inHeader atomic.Bool // only in HTTP/1
	handled  atomic.Bool // a handler has received the HTTP/1 request, so the response comes from the handler

	// Only the reading goroutine uses the following fields.
	isHTTP2   bool
	header    rawHeader
	rejection error // ends the connection
}

// acquire acquires bytes and adds them to held. Close releases the bytes that are still held.
func (c *Connection) acquire(p *Pool, held *atomic.Int64, bytes int64) bool {
	if !p.Acquire(bytes) {
		return false
	}
	held.Add(bytes)
	if c.closed.Load() { // closed by another goroutine, which may not have released these bytes
		c.releaseAll()
	}
	return true
}

func (c *Connection) releaseAll() {
	c.bounds.Budget.Connections.Release(c.cost.Swap(0))
	c.releaseHeader()
}

func (c *Connection) releaseHeader() { c.bounds.Budget.Requests.Release(c.reservedHeader.Swap(0)) }

type connectionKey struct{}

// WithConnection is the callback for http.Server.ConnContext that makes a connection available to ConnectionOf.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// ConnectionOf returns a request's connection, or nil in tests that use no connection.
func ConnectionOf(r *http.Request) *Connection {
	c, _ := r.Context().Value(connectionKey{}).(*Connection)
	return c
}

// Handle wraps the handler of an http.Server to record which HTTP/1 requests it receives.
func Handle(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := ConnectionOf(r); c != nil && !c.isHTTP2 {
			c.handled.Store(true)
		}
		handler.ServeHTTP(w, r)
	})
}

// FieldNames returns the field names in an HTTP/1 request's header in their original order and case, or false if they are not known.
func (c *Connection) FieldNames(r *http.Request) ([]string, bool) {
	if r.ProtoMajor != 1 || !c.header.isOf(r) {
		return nil, false
	}
	return c.header.names(), true
}

// BeginStream counts an HTTP/2 request in progress, and reports whether the cost of the connection covers the request.
func (c *Connection) BeginStream() (included bool) { return c.inProgress.Add(1) <= includedStreams }

// EndStream undoes BeginStream.
func (c *Connection) EndStream() { c.inProgress.Add(-1) }

// BeginRejection counts an HTTP/2 request that is rejected because of the budget. It returns false if too many of these requests are in
// progress, because clients that do not read responses make rejections expensive.
func (c *Connection) BeginRejection() bool { return c.rejecting.Add(1) <= includedStreams }

// EndRejection undoes BeginRejection.
func (c *Connection) EndRejection() { c.rejecting.Add(-1) }

// TrackState is the callback for http.Server.ConnState that prepares an idle HTTP/1 connection for the next header, and records the end of
// a header. net/http calls it before it starts to read the byte after the request.
func TrackState(c net.Conn, state http.ConnState) {
	switch c, ok := c.(*Connection); {
	case !ok || c.isHTTP2:
	case state == http.StateActive:
		c.inHeader.Store(false)
	case state == http.StateIdle:
		c.releaseHeader()
		c.header.restart()
		c.inHeader.Store(true)
		c.handled.Store(false)
	}
}

// Close implements net.Conn.
func (c *Connection) Close() error {
	c.closed.Store(true)
	c.releaseAll()
	c.release()
	return c.Conn.Close()
}

// CloseWrite closes only the sending side. net/http and WebSockets call CloseWrite before they close a connection on which the client may
// still be sending. Otherwise, a reset could make the client lose the end of the response.
func (c *Connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SendReset makes the next Close send a TCP reset.
func (c *Connection) SendReset() error {
	under := c.Conn
	if secure, ok := under.(*TLSConnection); ok {
		under = secure.carrier.Conn
	}
	if plain, ok := under.(interface{ SetLinger(seconds int) error }); ok { // as *net.TCPConn
		return plain.SetLinger(0)
	}
	return errors.ErrUnsupported
}
