package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// listenPublic listens on the HTTP port and, if enabled, on the HTTPS port. Connections to both ports share one limit and one budget.
func listenPublic(ctx context.Context, s Settings, m *metrics, reporter *transport.Reporter, log *slog.Logger) ([]net.Listener, error) {
	var public []net.Listener
	b := &transport.Bounds{Budget: m.budget, OpenConnections: &m.connections, Reporter: reporter,
		MaxHeaderBytes: s.maxHeaderBytes, Log: log}
	if s.tls.Address != "" { // before HTTP, so that the server is not ready without a certificate
		secure, err := listenTLS(ctx, s.tls, m, b)
		if err != nil {
			return nil, err
		}
		public = append(public, transport.NewBoundedListener(secure, transport.TLSConnectionCost, b))
	}
	plain, err := transport.ListenDualStack(ctx, (&net.ListenConfig{}).Listen, s.httpAddress)
	if err != nil {
		closeAll(public)
		return nil, err
	}
	return append([]net.Listener{transport.NewBoundedListener(plain, transport.Cost, b)}, public...), nil
}

// listenTLS waits for the certificate and then listens on the HTTPS port.
func listenTLS(ctx context.Context, s transport.TLSSettings, m *metrics, b *transport.Bounds) (net.Listener, error) {
	certificates, err := transport.AwaitCertificates(ctx, s, &m.tls, b.Log)
	if err != nil {
		return nil, err
	}
	listener, err := transport.ListenDualStack(ctx, (&net.ListenConfig{}).Listen, s.Address)
	if err != nil {
		return nil, err
	}
	m.exposeTLS()
	go certificates.Follow(ctx)
	return transport.NewTLSListener(listener, certificates, b.Reporter), nil
}

func closeAll(listeners []net.Listener) {
	for _, each := range listeners {
		_ = each.Close() // the listener may already be closed
	}
}

// newAdmin returns the handler of the admin port, which serves metrics and probes. Requests to this port are counted but not logged.
func newAdmin(life *lifecycle, metrics *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := exchange.New(w, r)
		metrics.began()
		defer func() { metrics.ended("admin", r, e.StatusOrOK(), time.Since(e.Began)) }()
		exchange.SetSecurityHeaders(e.Header())
		switch r.URL.Path {
		case "/livez":
			health(e, true)
		case "/readyz":
			health(e, !life.draining.Load())
		case "/metrics":
			metrics.expose(e)
		default:
			exchange.Reject(e, http.StatusNotFound, "not found: the paths are /metrics, /livez, and /readyz")
		}
	})
}
