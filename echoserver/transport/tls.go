// Package tlsserver adds TLS to connections, and reloads the certificate when the certificate files change.
package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Connection is a TLS connection that net/http treats as a plain connection, because it is not a *tls.Conn and has no ConnectionState
// method. Therefore, net/http needs no TLS configuration, and recognizes HTTP/2 by its preface.
type TLSConnection struct {
	net.Conn  // the *tls.Conn
	transport *transport
	reporter  *Reporter
	authority *x509.CertPool
	port      string
	handshake func() error
	state     *tls.ConnectionState // set after the handshake
}

func newConnection(plain net.Conn, listener *tlsListener) *TLSConnection {
	pair := listener.certificates.current.Load()
	transport := &transport{Conn: plain, handshakes: listener.handshakes}
	secure := tls.Server(transport, pair.config)
	c := &TLSConnection{Conn: secure, transport: transport, reporter: listener.reporter, authority: pair.authority, port: listener.port}
	c.handshake = sync.OnceValue(func() error { return c.runHandshake(secure) })
	return c
}

// runHandshake runs the handshake with a time limit for both directions. The read deadline that net/http sets limits only one direction.
func (c *TLSConnection) runHandshake(secure *tls.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), HeaderTimeout)
	defer cancel()
	defer c.transport.handshakes.Remove(c.transport.Conn)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.reportFailure(err)
		return err
	}
	c.transport.complete = true
	state := secure.ConnectionState()
	if len(state.VerifiedChains) == 0 {
		state.VerifiedChains = verify(state.PeerCertificates, c.authority)
	}
	c.state = &state
	return nil
}

// verify returns the certificate chains, if any, from a client's certificate to the authority.
func verify(peer []*x509.Certificate, authority *x509.CertPool) [][]*x509.Certificate {
	if len(peer) == 0 {
		return nil
	}
	options := x509.VerifyOptions{Roots: authority, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, each := range peer[1:] {
		options.Intermediates.AddCert(each)
	}
	chains, err := peer[0].Verify(options)
	if err != nil {
		return nil
	}
	return chains
}

// Read implements net.Conn.
func (c *TLSConnection) Read(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *TLSConnection) Write(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *TLSConnection) Close() error {
	c.transport.closing.Store(true)
	return c.Conn.Close()
}

// CloseWrite closes the sending side of the connection.
func (c *TLSConnection) CloseWrite() error {
	closer, _ := c.Conn.(interface{ CloseWrite() error })
	return closer.CloseWrite()
}

// NetConn returns the underlying connection, which carries the TLS data.
func (c *TLSConnection) NetConn() net.Conn { return c.transport.Conn }

// Port returns the port on which the connection was accepted.
func (c *TLSConnection) Port() string { return c.port }

// Of returns a request's TLS connection, or nil if the request did not use TLS.
func TLSConnectionOf(r *http.Request) *TLSConnection {
	c := ConnectionOf(r)
	if c == nil {
		return nil
	}
	secure, _ := c.Conn.(*TLSConnection)
	return secure
}

// State returns the TLS state of a request's connection, or nil if the connection does not use TLS. VerifiedChains is empty unless the
// authority verifies the client's certificate.
func TLSStateOf(r *http.Request) *tls.ConnectionState {
	secure := TLSConnectionOf(r)
	if secure == nil {
		return nil
	}
	return secure.state
}

// tlsListener accepts connections that use the current certificate. A handshake in Accept would delay other connections, so the handshake
// takes place in the first Read.
type tlsListener struct {
	net.Listener
	port         string
	certificates *Certificates
	handshakes   *EvictingSet
	reporter     *Reporter
}

// NewListener returns a TLS listener that reports failed handshakes, and counts handshakes that exceed the limit.
func NewTLSListener(listener net.Listener, certificates *Certificates, reporter *Reporter) net.Listener {
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // empty if this is not a TCP listener
	return &tlsListener{Listener: listener, port: port, certificates: certificates, reporter: reporter,
		handshakes: &EvictingSet{Limit: maxHandshakes, Evicted: func() { reporter.Count(LimitHandshakes) }}}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConnection(accepted, l), nil
}

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
	handshakes *EvictingSet // the handshakes in progress; most take milliseconds, and the oldest is aborted to make room
	received   int          // the number of handshake bytes received
	complete   bool         // whether the handshake is complete
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

// reportFailure reports a failed handshake. It responds to the client if the client sent a plain HTTP request instead.
func (c *TLSConnection) reportFailure(err error) {
	what := Rejection{Remote: c.RemoteAddr().String(), Protocol: "TLS", Reason: ReasonHandshake, Detail: err.Error()}
	record, isRecord := errors.AsType[tls.RecordHeaderError](err)
	version := 0
	if isRecord {
		version = ProxyVersion(record.RecordHeader[:])
	}
	switch {
	case version > 0:
		what.Protocol = "PROXY v" + strconv.Itoa(version)
		what.Reason, what.Detail = ReasonProxyProtocol, DetailProxy
	case isRecord && isHTTP(record.RecordHeader):
		what.Protocol, what.Status = "HTTP", http.StatusBadRequest
		what.Reason, what.Detail = ReasonNoTLS, DetailNoTLS
	case c.transport.received == 0 || hasLeft(err):
		return
	case isTimeout(err):
		what.Detail = "the handshake did not complete in time"
	}
	c.reporter.Report(what)
	if what.Reason == ReasonNoTLS {
		c.rejectPlain()
	}
}

// hasLeft reports whether the client closed the connection (as health checks do) or the server closed it to make room for another
// handshake.
func hasLeft(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// isHTTP reports whether a connection begins with a plain HTTP/1 or HTTP/2 request.
func isHTTP(beginning [5]byte) bool {
	return slices.ContainsFunc([]string{"GET ", "HEAD ", "POST ", "PUT ", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE", "PRI *"},
		func(method string) bool { return string(beginning[:len(method)]) == method })
}

// rejectPlain responds to a plain HTTP request on the TLS port.
func (c *TLSConnection) rejectPlain() {
	under := c.transport.Conn
	deadline := under.SetWriteDeadline(time.Now().Add(closeTimeout))
	_, written := io.WriteString(under, "HTTP/1.1 400 Bad Request\r\nContent-Type: "+PlainText+"\r\nConnection: close\r\n\r\n"+
		"echo-server: "+DetailNoTLS+"\n")
	if half, ok := under.(interface{ CloseWrite() error }); ok && errors.Join(deadline, written) == nil {
		Linger(half, under)
	}
}
