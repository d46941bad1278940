package server

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
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

// tlsConnection is a connection with TLS that net/http takes for one without: it neither is a *tls.Conn nor has the method
// ConnectionState. So net/http has no configuration of TLS, and finds HTTP/2 by its preface, as without TLS.
type tlsConnection struct {
	net.Conn  // the *tls.Conn
	transport *tlsTransport
	authority *x509.CertPool
	port      string
	handshake func() error
	state     *tls.ConnectionState // after the handshake
}

func newTLSConnection(connection net.Conn, listener *tlsListener) *tlsConnection {
	pair := listener.certificates.current.Load()
	transport := &tlsTransport{Conn: connection, handshakes: listener.handshakes}
	secure := tls.Server(transport, pair.config)
	c := &tlsConnection{Conn: secure, transport: transport, authority: pair.authority, port: listener.port}
	c.handshake = sync.OnceValue(func() error { return c.shakeHands(secure) })
	return c
}

// shakeHands bounds the handshake by time in both directions; the read deadline of net/http bounds only one.
func (c *tlsConnection) shakeHands(secure *tls.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), connection.HeaderTimeout)
	defer cancel()
	defer c.transport.handshakes.Remove(c.transport.Conn)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.refusePlain(err)
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

// verify returns the chains from the certificate of a client to the authority, none if there are none.
func verify(peer []*x509.Certificate, authority *x509.CertPool) [][]*x509.Certificate {
	if len(peer) == 0 {
		return nil
	}
	options := x509.VerifyOptions{Roots: authority, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, each := range peer[1:] {
		options.Intermediates.AddCert(each)
	}
	chains, err := peer[0].Verify(options)
	if err != nil {
		return nil
	}
	return chains
}

// refusePlain answers a request without TLS, if the handshake failed with that.
func (c *tlsConnection) refusePlain(err error) {
	record, ok := errors.AsType[tls.RecordHeaderError](err)
	if !ok || !slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH"}, string(record.RecordHeader[:])) {
		return
	}
	_ = c.transport.Conn.SetWriteDeadline(time.Now().Add(tlsCloseTimeout)) // the client may be gone
	_, _ = io.WriteString(c.transport.Conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: "+connection.PlainText+"\r\nConnection: close\r\n\r\n"+
		"echo-server: this port requires TLS: use https\n")
}

// Read implements net.Conn.
func (c *tlsConnection) Read(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *tlsConnection) Write(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *tlsConnection) Close() error {
	c.transport.closing.Store(true)
	return c.Conn.Close()
}

// CloseWrite tells the client that nothing follows.
func (c *tlsConnection) CloseWrite() error {
	closer, _ := c.Conn.(interface{ CloseWrite() error })
	return closer.CloseWrite()
}

// NetConn returns the connection below TLS.
func (c *tlsConnection) NetConn() net.Conn { return c.transport.Conn }

// tlsOf returns the connection with TLS of a request, nil without TLS.
func tlsOf(r *http.Request) *tlsConnection {
	c := connection.Of(r)
	if c == nil {
		return nil
	}
	secure, _ := c.Conn.(*tlsConnection)
	return secure
}

// tlsState returns the state of TLS, nil without TLS. VerifiedChains is empty unless the authority verifies the client.
func tlsState(r *http.Request) *tls.ConnectionState {
	secure := tlsOf(r)
	if secure == nil {
		return nil
	}
	return secure.state
}

// portOf returns the port on which a request came.
func (h *handler) portOf(r *http.Request) string {
	if secure := tlsOf(r); secure != nil {
		return secure.port
	}
	return h.port
}

// listenerOf returns the label of the port of a request.
func listenerOf(r *http.Request) string {
	if tlsOf(r) != nil {
		return "https"
	}
	return "http"
}
