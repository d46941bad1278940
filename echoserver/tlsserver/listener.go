package tlsserver

import (
	"net"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

// tlsListener accepts connections that use the current certificate. A handshake in Accept would delay other connections, so the handshake
// takes place in the first Read.
type tlsListener struct {
	net.Listener
	port         string
	certificates *Certificates
	handshakes   *connection.EvictingSet
	reporter     *rejections.Reporter
}

// NewListener returns a TLS listener that reports failed handshakes, and counts handshakes that exceed the limit.
func NewListener(listener net.Listener, certificates *Certificates, reporter *rejections.Reporter) net.Listener {
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // empty if this is not a TCP listener
	return &tlsListener{Listener: listener, port: port, certificates: certificates, reporter: reporter,
		handshakes: &connection.EvictingSet{Limit: maxHandshakes, Evicted: func() { reporter.Count(LimitHandshakes) }}}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConnection(accepted, l), nil
}
