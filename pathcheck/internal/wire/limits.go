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
	// MaxRequests, MaxBytes and maxOpen bound a run: how many requests it sends, how much it sends and receives, and how many connections it
	// has at once.
	MaxRequests = 300
	MaxBytes    = 64 << 20
	maxOpen     = 10
	// maxHeader is the maximum size of the header of a response, and MaxBody how much of its body is kept, in bytes.
	maxHeader = 256 << 10
	MaxBody   = 1 << 20
	// Timeout is how long a response may take, and LongTimeout the response to a large request.
	Timeout     = 10 * time.Second
	LongTimeout = 30 * time.Second
)

var (
	errRequests = fmt.Errorf("the run has sent %d requests, more are not allowed", MaxRequests)
	errBytes    = fmt.Errorf("the run has sent and received %d MiB, more is not allowed", MaxBytes>>20)
)

// Limits is what a run has used.
type Limits struct {
	requests atomic.Int64
	bytes    atomic.Int64
	open     chan struct{}
}

func NewLimits() *Limits { return &Limits{open: make(chan struct{}, maxOpen)} }

// Begin takes a request and a place, which the returned function gives back.
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

// Count takes a request.
func (l *Limits) Count() error {
	if l.requests.Add(1) > MaxRequests {
		l.requests.Add(-1)
		return errRequests
	}
	return nil
}

// Sent returns how many requests were sent.
func (l *Limits) Sent() int { return int(l.requests.Load()) }

// Taken returns how many connections are open.
func (l *Limits) Taken() int { return len(l.open) }

// Used returns how many bytes were sent and received.
func (l *Limits) Used() int64 { return min(l.bytes.Load(), MaxBytes) }

// countedConn is a connection whose bytes count.
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

// IsLimit reports whether an error means that the run may not go on.
func IsLimit(err error) bool { return errors.Is(err, errRequests) || errors.Is(err, errBytes) }
