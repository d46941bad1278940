package connection

import "time"

const (
	// HeaderTimeout is the time within which a client must send an HTTP/1 header or complete a TLS handshake.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is longer than the idle timeout of load balancers, so that the load balancer, not the server, closes idle connections.
	IdleTimeout = 620 * time.Second
	// LingerTimeout is the time that the server waits for the end of a rejected request. If the server closed the connection earlier, a reset
	// could discard the response before the client reads it.
	LingerTimeout = 500 * time.Millisecond
)
