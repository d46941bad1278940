package tlsserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

// Connection is a TLS connection that net/http treats as a plain connection, because it is not a *tls.Conn and has no ConnectionState
// method. Therefore, net/http needs no TLS configuration, and recognizes HTTP/2 by its preface.
type Connection struct {
	net.Conn  // the *tls.Conn
	transport *transport
	reporter  *rejections.Reporter
	authority *x509.CertPool
	port      string
	handshake func() error
	state     *tls.ConnectionState // set after the handshake
}

func newConnection(plain net.Conn, listener *tlsListener) *Connection {
	pair := listener.certificates.current.Load()
	transport := &transport{Conn: plain, handshakes: listener.handshakes}
	secure := tls.Server(transport, pair.config)
	c := &Connection{Conn: secure, transport: transport, reporter: listener.reporter, authority: pair.authority, port: listener.port}
	c.handshake = sync.OnceValue(func() error { return c.runHandshake(secure) })
	return c
}

// runHandshake runs the handshake with a time limit for both directions. The read deadline that net/http sets limits only one direction.
func (c *Connection) runHandshake(secure *tls.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), connection.HeaderTimeout)
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
func (c *Connection) Read(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *Connection) Write(p []byte) (int, error) {
	if err := c.handshake(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *Connection) Close() error {
	c.transport.closing.Store(true)
	return c.Conn.Close()
}

// CloseWrite closes the sending side of the connection.
func (c *Connection) CloseWrite() error {
	closer, _ := c.Conn.(interface{ CloseWrite() error })
	return closer.CloseWrite()
}

// NetConn returns the underlying connection, which carries the TLS data.
func (c *Connection) NetConn() net.Conn { return c.transport.Conn }

// Port returns the port on which the connection was accepted.
func (c *Connection) Port() string { return c.port }

// Of returns a request's TLS connection, or nil if the request did not use TLS.
func Of(r *http.Request) *Connection {
	c := connection.Of(r)
	if c == nil {
		return nil
	}
	secure, _ := c.Conn.(*Connection)
	return secure
}

// State returns the TLS state of a request's connection, or nil if the connection does not use TLS. VerifiedChains is empty unless the
// authority verifies the client's certificate.
func State(r *http.Request) *tls.ConnectionState {
	secure := Of(r)
	if secure == nil {
		return nil
	}
	return secure.state
}
