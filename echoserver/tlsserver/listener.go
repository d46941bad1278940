package tlsserver

import (
	"net"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

// tlsListener accepts connections with the certificate of the time. Their handshake is not part of Accept, where it would delay other
// connections, but of the first Read.
type tlsListener struct {
	net.Listener
	port         string
	certificates *Certificates
	handshakes   *connection.EvictingSet
}

// NewListener returns a listener for TLS. It calls limited with the reason of a handshake that was ended because there were too many.
func NewListener(listener net.Listener, certificates *Certificates, limited func(reason string)) net.Listener {
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // empty, if it is not a TCP listener
	return &tlsListener{Listener: listener, port: port, certificates: certificates,
		handshakes: &connection.EvictingSet{Limit: maxHandshakes, Evicted: func() { limited(LimitHandshakes) }}}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConnection(accepted, l), nil
}
