package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
)

// ListenFunc is the type of net.ListenConfig.Listen.
type ListenFunc func(ctx context.Context, network, address string) (net.Listener, error)

// ListenDualStack listens on IPv6 and IPv4, or only on IPv4 if IPv6 is disabled on the node.
func ListenDualStack(ctx context.Context, listen ListenFunc, address string) (net.Listener, error) {
	listener, err := listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		listener, err = listen(ctx, "tcp4", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return listener, nil
}

// maxConnections is the maximum total number of connections to the public ports.
const maxConnections = 4096

// boundedListener immediately closes connections that exceed its limit or the budget, so that a load balancer tries another pod. If the
// listener did not accept such connections, they would hang instead.
type boundedListener struct {
	net.Listener
	bounds *Bounds
	limit  int64
	cost   int64 // of each connection, in bytes
}

// NewBoundedListener returns a listener whose connections each cost the given number of bytes.
func NewBoundedListener(listener net.Listener, cost int64, b *Bounds) net.Listener {
	return &boundedListener{Listener: listener, bounds: b, limit: maxConnections, cost: cost}
}

func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		accepted := &Connection{Conn: c, bounds: l.bounds, release: sync.OnceFunc(l.release)}
		accepted.inHeader.Store(true)
		if l.bounds.OpenConnections.Add(1) <= l.limit && accepted.acquire(&l.bounds.Budget.Connections, &accepted.cost, l.cost) {
			return accepted, nil
		}
		l.release()
		l.bounds.Reporter.Count(LimitConnections)
		_ = c.Close() // there is nowhere to report the error
	}
}

func (l *boundedListener) release() { l.bounds.OpenConnections.Add(-1) }

// evictingSet limits the number of connections. It closes the oldest connection to make room for a new one. Otherwise, clients that keep
// connections open could lock out all other clients.
type evictingSet struct {
	limit   int    // the maximum number of connections
	evicted func() // called after the set has closed a connection to make room

	mutex sync.Mutex
	open  []net.Conn // the oldest first
}

func (s *evictingSet) add(c net.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.open = append(s.open, c)
	if len(s.open) > s.limit {
		_ = s.open[0].Close() // reading from it fails, and net/http closes it again
		s.open = slices.Delete(s.open, 0, 1)
		s.evicted()
	}
}

func (s *evictingSet) remove(c net.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.open = slices.DeleteFunc(s.open, func(each net.Conn) bool { return each == c })
}

// EvictingListener closes its oldest connection to make room for a new one.
type EvictingListener struct {
	net.Listener
	open evictingSet
}

// NewEvictingListener returns a listener that keeps at most limit connections open.
func NewEvictingListener(listener net.Listener, limit int) *EvictingListener {
	return &EvictingListener{Listener: listener, open: evictingSet{limit: limit, evicted: func() {}}}
}

// Accept implements net.Listener.
func (l *EvictingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.add(c)
	return &evictableConnection{c, &l.open}, nil
}

type evictableConnection struct {
	net.Conn
	all *evictingSet
}

func (c *evictableConnection) Close() error {
	c.all.remove(c.Conn)
	return c.Conn.Close()
}
