package connection

import "time"

const (
	// HeaderTimeout is how long a client may take to send a header of HTTP/1, or for a TLS handshake.
	HeaderTimeout = 10 * time.Second
	// IdleTimeout is longer than the idle timeout of load balancers, so that they close connections and not the server.
	IdleTimeout = 620 * time.Second
	// LingerTimeout is how long the end of a rejected request is awaited. Otherwise a reset could destroy the response before it arrives.
	LingerTimeout = 500 * time.Millisecond
)
