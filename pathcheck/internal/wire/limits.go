package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

const (
	// MaxRequests, MaxBytes, and maxOpen limit the requests, the bytes sent and received, and the concurrent connections of a run.
	MaxRequests = 300
	MaxBytes    = 64 << 20
	maxOpen     = 10
	// maxHeader is the maximum size of a response's header, and MaxBody is the maximum size of the retained part of its body. Both are in
	// bytes.
	maxHeader = 256 << 10
	MaxBody   = 1 << 20
	// Timeout is the time limit for a response, and LongTimeout is the time limit for the response to a large request.
	Timeout     = 10 * time.Second
	LongTimeout = 30 * time.Second
)

var (
	errRequests = fmt.Errorf("the run has sent %d requests, the maximum", MaxRequests)
	errBytes    = fmt.Errorf("the run has sent and received %d MiB, the maximum", MaxBytes>>20)
)

// Limits tracks the requests, bytes, and connections that a run has used.
type Limits struct {
	requests atomic.Int64
	bytes    atomic.Int64
	open     chan struct{}
}

func NewLimits() *Limits { return &Limits{open: make(chan struct{}, maxOpen)} }

// Begin counts a request, and acquires a connection slot, which the returned function releases.
func (l *Limits) Begin(ctx context.Context) (end func(), err error) {
	select {
	case l.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.Count(); err != nil {
		<-l.open
		return nil, err
	}
	return func() { <-l.open }, nil
}

func (l *Limits) Count() error {
	if l.requests.Add(1) > MaxRequests {
		l.requests.Add(-1)
		return errRequests
	}
	return nil
}

// Sent returns the number of requests that were sent.
func (l *Limits) Sent() int { return int(l.requests.Load()) }

// Taken returns the number of open connections.
func (l *Limits) Taken() int { return len(l.open) }

// Used returns the number of bytes sent and received.
func (l *Limits) Used() int64 { return min(l.bytes.Load(), MaxBytes) }

// countedConn is a connection that counts its bytes toward the limits.
type countedConn struct {
	net.Conn
	limits *Limits
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	if c.limits.bytes.Load() >= MaxBytes {
		return 0, errBytes
	}
	n, err := c.Conn.Read(p)
	c.limits.bytes.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	if c.limits.bytes.Add(int64(len(p))) > MaxBytes {
		return 0, errBytes
	}
	return c.Conn.Write(p)
}

// IsLimit reports whether an error means that the run has reached a limit.
func IsLimit(err error) bool { return errors.Is(err, errRequests) || errors.Is(err, errBytes) }
