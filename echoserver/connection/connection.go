package connection

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

// PlainText is the media type of texts.
const PlainText = "text/plain; charset=utf-8"

// The reasons of rejections because of a limit.
const (
	LimitConnections = "connections" // too many of them
	LimitHeader      = "header"      // too long, or with too many fields
	LimitMemory      = "memory"      // the budget is used up
)

// errRejected ends a connection whose request was rejected before it was parsed. It has the type to which net/http does not respond.
var errRejected = &net.OpError{Op: "read", Err: errors.New("the request was refused")}

// Bounds is what the connections of the public ports share.
type Bounds struct {
	Budget *Budget
	// OpenConnections is the number of connections.
	OpenConnections *atomic.Int64
	// Reporter counts what is rejected because of a limit, and reports what net/http rejects.
	Reporter       *rejections.Reporter
	MaxHeaderBytes int
	Log            *slog.Logger
}

// Connection is a connection of a client. It accounts for what a client makes the server hold before a handler knows of it, and bounds
// the number of fields and the request line of HTTP/1, which net/http does not bound.
type Connection struct {
	net.Conn
	bounds  *Bounds
	release func() // gives the place of the connection back, once

	closed         atomic.Bool
	cost           atomic.Int64 // taken from budget.connections, in bytes
	reservedHeader atomic.Int64 // taken from budget.requests, in bytes
	inProgress     atomic.Int64 // requests
	rejecting      atomic.Int64 // requests that are rejected because of the budget

	inHeader atomic.Bool // of HTTP/1
	handled  atomic.Bool // a handler has the request of HTTP/1, so that a response is the handler's

	// What follows is used by one goroutine at a time: that which reads.
	isHTTP2   bool
	frames    *rejections.Frames // of HTTP/2
	header    rawHeader
	rejection error // ends the connection
}

// accept returns the connection of a client, or false if the budget does not allow one more. left is called when it is closed.
func accept(c net.Conn, cost int64, b *Bounds, left func()) (*Connection, bool) {
	accepted := &Connection{Conn: c, bounds: b, release: sync.OnceFunc(left)}
	accepted.inHeader.Store(true)
	return accepted, accepted.acquire(&b.Budget.Connections, &accepted.cost, cost)
}

// acquire takes bytes until the connection is closed, and adds them to held.
func (c *Connection) acquire(p *Pool, held *atomic.Int64, bytes int64) bool {
	if !p.Acquire(bytes) {
		return false
	}
	held.Add(bytes)
	if c.closed.Load() { // by another goroutine, which may have missed them
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

// WithConnection is for http.Server.ConnContext, so that handlers find the connection of a request.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// Of returns the connection of a request, or nil if there is none.
func Of(r *http.Request) *Connection {
	c, _ := r.Context().Value(connectionKey{}).(*Connection)
	return c
}

// Handle wraps the handler of an http.Server. When a handler is called, the header of HTTP/1 was parsed, and what follows is a body.
func Handle(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := Of(r); c != nil && !c.isHTTP2 {
			c.inHeader.Store(false)
			c.handled.Store(true)
		}
		handler.ServeHTTP(w, r)
	})
}

// FieldNames returns the names of the fields in the header of a request of HTTP/1, in the order and case in which they were sent. It
// returns false if they are not known.
func (c *Connection) FieldNames(r *http.Request) ([]string, bool) {
	if r.ProtoMajor != 1 || !c.header.isOf(r) {
		return nil, false
	}
	return c.header.names(), true
}

// BeginStream counts a request of HTTP/2 that is in progress. It returns whether the cost of the connection includes it.
func (c *Connection) BeginStream() (included bool) { return c.inProgress.Add(1) <= includedStreams }

// EndStream ends what beginStream has begun.
func (c *Connection) EndStream() { c.inProgress.Add(-1) }

// BeginRejection counts a request of HTTP/2 that is rejected because of the budget. It returns false if there are too many: clients that do
// not read would make rejections expensive.
func (c *Connection) BeginRejection() bool { return c.rejecting.Add(1) <= includedStreams }

// EndRejection ends what beginRejection has begun.
func (c *Connection) EndRejection() { c.rejecting.Add(-1) }

// TrackState is for http.Server.ConnState: when an HTTP/1 connection becomes idle, the next header begins.
func TrackState(c net.Conn, state http.ConnState) {
	if c, ok := c.(*Connection); ok && state == http.StateIdle && !c.isHTTP2 {
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

// CloseWrite ends the sending side, after which the client can still be read. net/http and WebSockets do so before they close a
// connection whose client may be sending: it would be reset, and the client might lose the end of the response.
func (c *Connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SendReset makes the next Close send a TCP reset.
func (c *Connection) SendReset() error {
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
