package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than the idle timeout of load balancers, so that they close connections and not the server.
	idleTimeout    = 620 * time.Second
	maxHeaders     = 64 << 10
	maxConnections = 4096
)

// run serves until ctx ends, then drains and returns nil.
func run(ctx context.Context, s settings, log *slog.Logger) error {
	listen := (&net.ListenConfig{}).Listen
	public, err := dualStack(ctx, listen, s.httpAddress)
	if err != nil {
		return err
	}
	defer func() { _ = public.Close() }()
	private, err := dualStack(ctx, listen, s.adminAddress)
	if err != nil {
		return err
	}

	life, metrics := newLifecycle(), newMetrics()
	handler := newHandler(s, port(public), life, metrics, log)
	server := newServer(handler, log)
	admin := newServer(newAdmin(life, metrics), log)
	defer func() { _ = admin.Close() }()
	ended := make(chan error, 2)
	go func() {
		ended <- server.Serve(&boundedListener{Listener: public, limit: maxConnections,
			refused: func() { metrics.limited(limitConnections) }})
	}()
	go func() { ended <- admin.Serve(private) }()
	log.Info("listening", "address", public.Addr().String(), "admin", private.Addr().String(), "version", version)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		life.drain(server, s.drainDelay, log)
		return nil
	}
}

// newServer returns a server for HTTP/1.1, and HTTP/2 without TLS with prior knowledge (RFC 9113, 3.3), on the same port.
func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      handler,
		Protocols:                    protocols,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaders,
		DisableGeneralOptionsHandler: true, // OPTIONS * is echoed too
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

func port(listener net.Listener) string {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "" // not a TCP listener
	}
	return port
}
