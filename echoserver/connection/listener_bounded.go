package connection

import (
	"net"
)

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

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.bounds.OpenConnections.Add(1) <= l.limit {
			if accepted, ok := accept(c, l.cost, l.bounds, l.release); ok {
				return accepted, nil
			}
		}
		l.release()
		l.bounds.Reporter.Count(LimitConnections)
		_ = c.Close() // there is nowhere to report the error
	}
}

func (l *boundedListener) release() { l.bounds.OpenConnections.Add(-1) }
