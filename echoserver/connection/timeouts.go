package connection

import "time"

const (
	// HeaderTimeout is the maximum time for sending an HTTP/1 header, or for a TLS handshake.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is longer than the idle timeout of load balancers, so that the load balancer closes idle connections and not the server.
	IdleTimeout = 620 * time.Second
	// LingerTimeout is the time that the server waits for the end of a rejected request. If it closed the connection earlier, a reset could
	// destroy the response before it arrives.
	LingerTimeout = 500 * time.Millisecond
)
