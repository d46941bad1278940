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
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// LimitHandshakes is the reason that metrics report for handshakes that the server aborts to make room for others.
	LimitHandshakes = "handshakes"
	// maxHandshakes is the maximum number of handshakes in progress. A handshake begins when its first data arrives.
	maxHandshakes = 256
	// maxHandshakeBytes is the maximum size of the data that a client sends in a handshake, including the client's certificates.
	maxHandshakeBytes = 16 << 10
	// maxPeerCertificates is the maximum length of a client's certificate chain. Each connection holds several KiB per certificate.
	maxPeerCertificates = 8
	// closeTimeout is how long Close may wait for a client that does not read.
	closeTimeout = 100 * time.Millisecond
)

// tlsListener accepts connections that use the current certificate. A handshake in Accept would delay other connections, so the handshake
// takes place in the first Read.
type tlsListener struct {
	net.Listener
	port         string
	certificates *Certificates
	handshakes   *evictingSet
	reporter     *Reporter
}

// NewTLSListener returns a TLS listener that reports failed handshakes, and counts handshakes that exceed the limit.
func NewTLSListener(listener net.Listener, certificates *Certificates, reporter *Reporter) net.Listener {
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // empty if this is not a TCP listener
	return &tlsListener{Listener: listener, port: port, certificates: certificates, reporter: reporter,
		handshakes: &evictingSet{limit: maxHandshakes, evicted: func() { reporter.Count(LimitHandshakes) }}}
}

func (l *tlsListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	pair := l.certificates.current.Load()
	under := &carrier{Conn: accepted, handshakes: l.handshakes}
	secure := tls.Server(under, pair.config)
	c := &TLSConnection{Conn: secure, carrier: under, reporter: l.reporter, authority: pair.authority, Port: l.port}
	c.handshake = sync.OnceValue(func() error { return c.runHandshake(secure) })
	return c, nil
}

// TLSConnection is a TLS connection that net/http treats as a plain connection, because it is not a *tls.Conn and has no ConnectionState
// method. Therefore, net/http needs no TLS configuration, and recognizes HTTP/2 by its preface.
type TLSConnection struct {
	net.Conn  // the *tls.Conn
	carrier   *carrier
	reporter  *Reporter
	authority *x509.CertPool
	Port      string // on which the connection was accepted
	handshake func() error
	state     *tls.ConnectionState // set after the handshake
}

// runHandshake runs the handshake with a time limit for both directions. The read deadline that net/http sets limits only one direction.
func (c *TLSConnection) runHandshake(secure *tls.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), HeaderTimeout)
	defer cancel()
	defer c.carrier.handshakes.remove(c.carrier.Conn)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.reportFailure(err)
		return err
	}
	c.carrier.complete = true
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

// reportFailure reports a failed handshake. It responds to the client if the client sent a plain HTTP request instead.
func (c *TLSConnection) reportFailure(err error) {
	what := rejection{remote: c.RemoteAddr().String(), protocol: "TLS", reason: ReasonHandshake, detail: err.Error()}
	record, _ := errors.AsType[tls.RecordHeaderError](err) // all bytes of RecordHeader are 0 if this is another error
	failed, isNetError := errors.AsType[net.Error](err)
	proxy := proxyProtocol(record.RecordHeader[:])
	switch {
	case proxy != "":
		what.protocol, what.reason, what.detail = proxy, ReasonProxyProtocol, detailProxy
	case isHTTP(record.RecordHeader):
		what.protocol, what.status = "HTTP", http.StatusBadRequest
		what.reason, what.detail = ReasonNoTLS, detailNoTLS
	case c.carrier.received == 0 || hasLeft(err):
		return
	case isNetError && failed.Timeout():
		what.detail = "the handshake did not complete in time"
	}
	c.reporter.report(what)
	if what.reason != ReasonNoTLS {
		return
	}
	under := c.carrier.Conn
	deadline := under.SetWriteDeadline(time.Now().Add(closeTimeout))
	_, written := io.WriteString(under, "HTTP/1.1 400 Bad Request\r\nContent-Type: "+PlainText+"\r\nConnection: close\r\n\r\n"+
		"echo-server: "+detailNoTLS+"\n")
	if half, ok := under.(interface{ CloseWrite() error }); ok && errors.Join(deadline, written) == nil {
		linger(half, under)
	}
}

// hasLeft reports whether the client closed the connection, as health checks do, or the server closed it to make room for another.
func hasLeft(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// isHTTP reports whether a connection begins with a plain HTTP/1 or HTTP/2 request.
func isHTTP(beginning [5]byte) bool {
	return slices.ContainsFunc([]string{"GET ", "HEAD ", "POST ", "PUT ", "OPTIO", "DELET", "PATCH", "CONNE", "TRACE", "PRI *"},
		func(method string) bool { return string(beginning[:len(method)]) == method })
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
	c.carrier.closing.Store(true)
	return c.Conn.Close()
}

// CloseWrite closes the sending side of the connection.
func (c *TLSConnection) CloseWrite() error {
	closer, _ := c.Conn.(interface{ CloseWrite() error })
	return closer.CloseWrite()
}

// TLSConnectionOf returns a request's TLS connection, or nil if the request did not use TLS.
func TLSConnectionOf(r *http.Request) *TLSConnection {
	if c := ConnectionOf(r); c != nil {
		secure, _ := c.Conn.(*TLSConnection)
		return secure
	}
	return nil
}

// TLSStateOf returns the TLS state of a request's connection, or nil if the connection does not use TLS. VerifiedChains is empty unless the
// authority verifies the client's certificate.
func TLSStateOf(r *http.Request) *tls.ConnectionState {
	if secure := TLSConnectionOf(r); secure != nil {
		return secure.state
	}
	return nil
}

// carrier is the connection that carries TLS data. It limits the size of the handshake, and how long Close takes.
type carrier struct {
	net.Conn
	handshakes *evictingSet // the handshakes in progress; most take milliseconds, and the oldest is aborted to make room
	received   int          // the number of bytes received until the handshake is complete
	complete   bool         // whether the handshake is complete
	closing    atomic.Bool
}

func (c *carrier) Read(p []byte) (int, error) {
	if c.complete {
		return c.Conn.Read(p)
	}
	if c.received == maxHandshakeBytes { // otherwise, the last bytes may belong to a request that follows the handshake
		return 0, errors.New("the handshake is larger than 16 KiB")
	}
	n, err := c.Conn.Read(p[:min(len(p), maxHandshakeBytes-c.received)])
	if c.received == 0 && n > 0 {
		c.handshakes.add(c.Conn)
	}
	c.received += n
	return n, err
}

// SetWriteDeadline implements net.Conn. It shortens the five-second deadline that tls.Conn sets for its last record, because
// http.Server.Shutdown cannot close other connections in the meantime.
func (c *carrier) SetWriteDeadline(deadline time.Time) error {
	if soon := time.Now().Add(closeTimeout); c.closing.Load() && deadline.After(soon) {
		deadline = soon
	}
	return c.Conn.SetWriteDeadline(deadline)
}
