package main

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxHandshakes is how many handshakes can be in progress. A connection on which nothing was received is in none.
	maxHandshakes = 256
	// maxHandshakeBytes is the maximum size of what a client sends in a handshake. It contains the certificates of the client.
	maxHandshakeBytes = 16 << 10
	// maxPeerCertificates is the maximum length of the chain of a client. A connection keeps the chain, several KiB a certificate.
	maxPeerCertificates = 8
	// tlsCloseTimeout is how long the end of a connection may wait for a client that does not read.
	tlsCloseTimeout = 100 * time.Millisecond
)

var errHandshakeTooLarge = errors.New("the handshake is larger than 16 KiB")

// handshakes bounds the handshakes in progress. The one that began first makes room: clients need milliseconds, and who needs longer
// could otherwise keep all others out with a few connections.
type handshakes struct {
	limit   int
	dropped func()

	mutex    sync.Mutex
	progress []net.Conn // the oldest first
}

func (h *handshakes) begin(connection net.Conn) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.progress = append(h.progress, connection)
	if len(h.progress) > h.limit {
		_ = h.progress[0].Close() // its handshake fails, and net/http closes it again
		h.progress = slices.Delete(h.progress, 0, 1)
		h.dropped()
	}
}

func (h *handshakes) end(connection net.Conn) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.progress = slices.DeleteFunc(h.progress, func(each net.Conn) bool { return each == connection })
}

// tlsTransport is the connection below TLS. It bounds the handshake and the end of the connection.
type tlsTransport struct {
	net.Conn
	handshakes *handshakes
	received   int  // in the handshake
	complete   bool // the handshake
	closing    atomic.Bool
}

// Read implements net.Conn.
func (t *tlsTransport) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if t.complete {
		return n, err
	}
	if t.received == 0 && n > 0 {
		t.handshakes.begin(t.Conn)
	}
	if t.received += n; t.received > maxHandshakeBytes {
		return 0, errHandshakeTooLarge
	}
	return n, err
}

// SetWriteDeadline implements net.Conn. tls.Conn allows five seconds to send its last record, in which http.Server.Shutdown would
// close no other connection.
func (t *tlsTransport) SetWriteDeadline(deadline time.Time) error {
	if soon := time.Now().Add(tlsCloseTimeout); t.closing.Load() && deadline.After(soon) {
		deadline = soon
	}
	return t.Conn.SetWriteDeadline(deadline)
}
