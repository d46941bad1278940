package tlsserver

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

const (
	// LimitHandshakes is the reason that metrics report for handshakes that the server aborts to make room for others.
	LimitHandshakes = "handshakes"
	// maxHandshakes is the maximum number of handshakes in progress. A handshake begins when its first data arrives.
	maxHandshakes = 256
	// maxHandshakeBytes is the maximum size of the data that a client sends in a handshake, including the client's certificates.
	maxHandshakeBytes = 16 << 10
	// maxPeerCertificates is the maximum length of a client's certificate chain. Each connection keeps several KiB in memory for each
	// certificate.
	maxPeerCertificates = 8
	// closeTimeout is how long Close may wait for a client that does not read.
	closeTimeout = 100 * time.Millisecond
)

var errHandshakeTooLarge = errors.New("the handshake is larger than 16 KiB")

// transport is the connection that carries TLS data. It limits the size of the handshake, and how long Close takes.
type transport struct {
	net.Conn
	handshakes *connection.EvictingSet // the handshakes in progress; most take milliseconds, and the oldest is aborted to make room
	received   int                     // the number of handshake bytes received
	complete   bool                    // whether the handshake is complete
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

// SetWriteDeadline implements net.Conn. It shortens the five-second deadline that tls.Conn sets for its last record, because
// http.Server.Shutdown cannot close other connections in the meantime.
func (t *transport) SetWriteDeadline(deadline time.Time) error {
	if soon := time.Now().Add(closeTimeout); t.closing.Load() && deadline.After(soon) {
		deadline = soon
	}
	return t.Conn.SetWriteDeadline(deadline)
}
