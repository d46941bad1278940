package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
)

// listenFunc is the type of net.ListenConfig.Listen.
type listenFunc func(ctx context.Context, network, address string) (net.Listener, error)

// dualStack listens on IPv6 and IPv4, or only on IPv4 if IPv6 is disabled on the node.
func dualStack(ctx context.Context, listen listenFunc, address string) (net.Listener, error) {
	listener, err := listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		listener, err = listen(ctx, "tcp4", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return listener, nil
}

// listenPublic listens on the HTTP port, and on the HTTPS port if there is one. Their connections have one limit and one budget.
func listenPublic(ctx context.Context, s Settings, m *metrics, log *slog.Logger) ([]net.Listener, error) {
	var public []net.Listener
	b := &bounds{metrics: m, maxHeaderBytes: s.maxHeaderBytes, log: log}
	if s.tls.address != "" { // first, because the server must not be ready without a certificate
		secure, err := listenTLS(ctx, s.tls, m, log)
		if err != nil {
			return nil, err
		}
		public = append(public, newBoundedListener(secure, tlsConnectionCost, b))
	}
	plain, err := dualStack(ctx, (&net.ListenConfig{}).Listen, s.httpAddress)
	if err != nil {
		closeAll(public)
		return nil, err
	}
	return append([]net.Listener{newBoundedListener(plain, connectionCost, b)}, public...), nil
}

func closeAll(listeners []net.Listener) {
	for _, each := range listeners {
		_ = each.Close() // it may be closed already
	}
}

// boundedListener immediately closes connections over its limit or over the budget, so that a load balancer tries another pod. Connections
// that wait to be accepted would hang.
type boundedListener struct {
	net.Listener
	*bounds
	limit int64
	cost  int64 // of a connection, in bytes
}

func newBoundedListener(listener net.Listener, cost int64, b *bounds) *boundedListener {
	return &boundedListener{Listener: listener, bounds: b, limit: maxConnections, cost: cost}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.metrics.connections.Add(1) <= l.limit {
			if accepted, ok := accept(c, l.cost, l.bounds, l.left); ok {
				return accepted, nil
			}
		}
		l.left()
		l.metrics.limited(limitConnections)
		_ = c.Close() // there is nowhere to report the error
	}
}

func (l *boundedListener) left() { l.metrics.connections.Add(-1) }

// renewedConnections bounds a number of connections. The oldest one makes room for a new one: clients that keep theirs for long could
// otherwise keep all others out with a few connections.
type renewedConnections struct {
	limit   int
	dropped func() // is called when one has made room

	mutex sync.Mutex
	open  []net.Conn // the oldest first
}

func (r *renewedConnections) add(c net.Conn) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.open = append(r.open, c)
	if len(r.open) > r.limit {
		_ = r.open[0].Close() // reading from it fails, and net/http closes it again
		r.open = slices.Delete(r.open, 0, 1)
		r.dropped()
	}
}

func (r *renewedConnections) remove(c net.Conn) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.open = slices.DeleteFunc(r.open, func(each net.Conn) bool { return each == c })
}

// renewingListener closes the oldest of its connections for a new one.
type renewingListener struct {
	net.Listener
	renewedConnections
}

func newRenewingListener(listener net.Listener, limit int) *renewingListener {
	return &renewingListener{Listener: listener, renewedConnections: renewedConnections{limit: limit, dropped: func() {}}}
}

// Accept implements net.Listener.
func (l *renewingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.add(c)
	return &renewedConnection{c, &l.renewedConnections}, nil
}

type renewedConnection struct {
	net.Conn
	all *renewedConnections
}

// Close implements net.Conn.
func (c *renewedConnection) Close() error {
	c.all.remove(c.Conn)
	return c.Conn.Close()
}
