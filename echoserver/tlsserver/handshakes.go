package tlsserver

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

const (
	// LimitHandshakes is the reason why a handshake is ended for another one.
	LimitHandshakes = "handshakes"
	// maxHandshakes is how many handshakes can be in progress. A connection on which nothing was received is in none.
	maxHandshakes = 256
	// maxHandshakeBytes is the maximum size of what a client sends in a handshake. It contains the certificates of the client.
	maxHandshakeBytes = 16 << 10
	// maxPeerCertificates is the maximum length of the chain of a client. A connection keeps the chain, several KiB a certificate.
	maxPeerCertificates = 8
	// closeTimeout is how long the end of a connection may wait for a client that does not read.
	closeTimeout = 100 * time.Millisecond
)

var errHandshakeTooLarge = errors.New("the handshake is larger than 16 KiB")

// transport is the connection below TLS. It bounds the handshake and the end of the connection.
type transport struct {
	net.Conn
	handshakes *connection.EvictingSet // in progress: clients need milliseconds, and who needs longer makes room
	received   int                     // in the handshake
	complete   bool                    // the handshake
	closing    atomic.Bool
}

// Read implements net.Conn.
func (t *transport) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if t.complete {
		return n, err
	}
	if t.received == 0 && n > 0 {
		t.handshakes.Add(t.Conn)
	}
	if t.received += n; t.received > maxHandshakeBytes {
		return 0, errHandshakeTooLarge
	}
	return n, err
}

// SetWriteDeadline implements net.Conn. tls.Conn allows five seconds to send its last record, in which http.Server.Shutdown would
// close no other connection.
func (t *transport) SetWriteDeadline(deadline time.Time) error {
	if soon := time.Now().Add(closeTimeout); t.closing.Load() && deadline.After(soon) {
		deadline = soon
	}
	return t.Conn.SetWriteDeadline(deadline)
}
