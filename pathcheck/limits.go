package pathcheck

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

const (
	// maxRequests, maxBytes and maxOpen bound a run: how many requests it sends, how much it sends and receives, and how many connections it
	// has at once.
	maxRequests = 300
	maxBytes    = 64 << 20
	maxOpen     = 10
	// maxHeader is the maximum size of the header of a response, and maxBody how much of its body is kept, in bytes.
	maxHeader = 256 << 10
	maxBody   = 1 << 20
	// timeout is how long a response may take, and longTimeout that of a large request.
	timeout     = 10 * time.Second
	longTimeout = 30 * time.Second
)

var (
	errRequests = fmt.Errorf("the run has sent %d requests, more are not allowed", maxRequests)
	errBytes    = fmt.Errorf("the run has sent and received %d MiB, more is not allowed", maxBytes>>20)
)

// limits is what a run has used.
type limits struct {
	requests atomic.Int64
	bytes    atomic.Int64
	open     chan struct{}
}

func newLimits() *limits { return &limits{open: make(chan struct{}, maxOpen)} }

// begin takes a request and a place, which the returned function gives back.
func (l *limits) begin(ctx context.Context) (end func(), err error) {
	select {
	case l.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.count(); err != nil {
		<-l.open
		return nil, err
	}
	return func() { <-l.open }, nil
}

// count takes a request.
func (l *limits) count() error {
	if l.requests.Add(1) > maxRequests {
		l.requests.Add(-1)
		return errRequests
	}
	return nil
}

// sent returns how many requests were sent.
func (l *limits) sent() int { return int(l.requests.Load()) }

// taken returns how many connections are open.
func (l *limits) taken() int { return len(l.open) }

// used returns how many bytes were sent and received.
func (l *limits) used() int64 { return min(l.bytes.Load(), maxBytes) }

// countedConn is a connection whose bytes count.
type countedConn struct {
	net.Conn
	limits *limits
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	if c.limits.bytes.Load() >= maxBytes {
		return 0, errBytes
	}
	n, err := c.Conn.Read(p)
	c.limits.bytes.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	if c.limits.bytes.Add(int64(len(p))) > maxBytes {
		return 0, errBytes
	}
	return c.Conn.Write(p)
}

// isLimit reports whether an error means that the run may not go on.
func isLimit(err error) bool { return errors.Is(err, errRequests) || errors.Is(err, errBytes) }
