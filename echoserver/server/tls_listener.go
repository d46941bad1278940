package server

import (
	"context"
	"log/slog"
	"net"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

// tlsListener accepts connections with the certificate of the time. Their handshake is not part of Accept, where it would delay other
// connections, but of the first Read.
type tlsListener struct {
	net.Listener
	port         string
	certificates *certificates
	handshakes   *connection.EvictingSet
}

// listenTLS waits for the certificate and then listens.
func listenTLS(ctx context.Context, s tlsSettings, m *metrics, log *slog.Logger) (net.Listener, error) {
	certificates, err := awaitCertificates(ctx, s, &m.tls, log)
	if err != nil {
		return nil, err
	}
	listener, err := connection.ListenDualStack(ctx, (&net.ListenConfig{}).Listen, s.address)
	if err != nil {
		return nil, err
	}
	m.exposeTLS()
	go certificates.follow(ctx)
	return newTLSListener(listener, certificates, m), nil
}

func newTLSListener(listener net.Listener, certificates *certificates, m *metrics) *tlsListener {
	return &tlsListener{Listener: listener, port: port(listener), certificates: certificates,
		handshakes: &connection.EvictingSet{Limit: maxHandshakes, Evicted: func() { m.limited(limitHandshakes) }}}
}

// Accept implements net.Listener.
func (l *tlsListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newTLSConnection(connection, l), nil
}
