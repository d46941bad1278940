package main

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
func listenPublic(ctx context.Context, s settings, m *metrics, log *slog.Logger) ([]net.Listener, error) {
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

// renewingListener keeps a number of connections, and closes the oldest one for a new one.
type renewingListener struct {
	net.Listener
	limit int

	mutex sync.Mutex
	open  []*renewedConnection // the oldest one first
}

// Accept implements net.Listener.
func (l *renewingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	accepted := &renewedConnection{Conn: c, listener: l}
	if oldest := l.add(accepted); oldest != nil {
		_ = oldest.Close() // there is nowhere to report the error
	}
	return accepted, nil
}

// add adds a connection, and returns the oldest one if there are too many.
func (l *renewingListener) add(c *renewedConnection) *renewedConnection {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.open = append(l.open, c)
	if len(l.open) <= l.limit {
		return nil
	}
	return l.open[0]
}

func (l *renewingListener) remove(c *renewedConnection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.open = slices.DeleteFunc(l.open, func(each *renewedConnection) bool { return each == c })
}

type renewedConnection struct {
	net.Conn
	listener *renewingListener
}

// Close implements net.Conn.
func (c *renewedConnection) Close() error {
	c.listener.remove(c)
	return c.Conn.Close()
}
