package connection

import "time"

const (
	// HeaderTimeout is how long a client may take to send an HTTP/1 header or complete a TLS handshake.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is longer than the idle timeout of load balancers, so that they, not the server, close idle connections.
	IdleTimeout = 620 * time.Second
	// LingerTimeout is how long the server continues to read after it has rejected a request. If it stopped at once, a reset could discard
	// the response before the client reads it.
	LingerTimeout = 500 * time.Millisecond
)
