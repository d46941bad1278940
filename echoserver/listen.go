package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
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

// boundedListener immediately closes connections over its limit, so that a load balancer tries another pod. Connections that wait
// to be accepted would hang.
type boundedListener struct {
	net.Listener
	limit   int64
	open    atomic.Int64
	refused func()
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.limit {
			return &boundedConnection{Conn: connection, closed: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused()
		_ = connection.Close() // there is nowhere to report the error
	}
}

type boundedConnection struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *boundedConnection) Close() error {
	c.closed()
	return c.Conn.Close()
}
