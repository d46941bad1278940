package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/rejections"
)

const (
	// requestTimeout is how long a client may take to send a request. Handlers that read a long body extend it.
	requestTimeout = 30 * time.Second
	// pingTimeout is how long an HTTP/2 client may be silent during a request before it is asked whether it is there.
	pingTimeout = 30 * time.Second
	// adminConnections is how many connections the admin port keeps. It closes the oldest one for a new one, so that probes always connect.
	adminConnections = 64
	// maxAdminHeaders is the maximum size of a header of the admin port, in bytes.
	maxAdminHeaders = 4 << 10
	// maxStreams is how many requests a connection of HTTP/2 may have in progress. net/http makes about 10 KiB for each before the handler can
	// refuse it: with as many connections as http2Cost allows, more than 32 could exceed the memory limit on a busy machine.
	maxStreams = 32
	// window is how much of the bodies of a connection of HTTP/2 can be in transit, in bytes.
	window = 64 << 10
	// maxFrame is the maximum size of a frame of HTTP/2, in bytes, the smallest that is allowed (RFC 9113, 4.2). net/http keeps a buffer
	// of that size for each connection.
	maxFrame = 16 << 10
)

// Run serves until ctx ends, then drains and returns nil.
func Run(ctx context.Context, s Settings, version string, log *slog.Logger) error {
	s.version = version
	life := newLifecycle()
	metrics := newMetrics(version, connection.NewBudget(connection.AvailableMemory()), life.draining.Load)
	reporter := rejections.NewReporter(log, metrics.Rejected)
	public, err := listenPublic(ctx, s, metrics, reporter, log)
	if err != nil {
		return err
	}
	defer closeAll(public)
	private, err := connection.ListenDualStack(ctx, (&net.ListenConfig{}).Listen, s.AdminAddress)
	if err != nil {
		return err
	}

	handler := newHandler(s, port(public[0]), life, metrics, log)
	server := newServer(handler, s.maxHeaderBytes, reporter)
	admin := newAdminServer(newAdmin(life, metrics), reporter)
	defer func() { _ = admin.Close() }()
	ended := make(chan error, 3)
	for _, listener := range public {
		go func() { ended <- server.Serve(listener) }()
	}
	go func() { ended <- admin.Serve(connection.NewEvictingListener(private, adminConnections)) }()
	attributes := []any{"address", public[0].Addr().String(), "admin", private.Addr().String(), "version", version}
	if len(public) > 1 {
		attributes = append(attributes, "https", public[1].Addr().String())
	}
	log.Info("listening", attributes...)
	if len(s.unknown) > 0 {
		log.Warn("environment variables that begin with ECHO_ are not settings and have no effect", "names", s.unknown)
	}
	if s.controls == controls.Full {
		log.Warn("controls are Full: requests can set headers that proxies, caches and browsers act upon; use this only in private networks")
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		life.drain(server, s.drainDelay, log)
		return nil
	}
}

// newServer returns a server for HTTP/1.1, and HTTP/2 without TLS with prior knowledge (RFC 9113, 3.3), on the same port. It decodes
// headers larger than maxHeaderBytes, which the connection rejects for HTTP/1.1 and the handler for HTTP/2.
func newServer(handler http.Handler, maxHeaderBytes int, reporter *rejections.Reporter) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           connection.Handle(handler),
		Protocols:         protocols,
		ReadHeaderTimeout: connection.HeaderTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      exchange.ResponseTimeout,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: window,
			MaxReceiveBufferPerStream:     window,
			MaxReadFrameSize:              maxFrame,
			SendPingTimeout:               pingTimeout,
			WriteByteTimeout:              exchange.ResponseTimeout,
			CountError:                    reporter.CountError,
		},
		ConnContext:                  connection.WithConnection,
		ConnState:                    connection.TrackState,
		IdleTimeout:                  connection.IdleTimeout,
		MaxHeaderBytes:               connection.DecoderFactor * maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // OPTIONS * is echoed too
		ErrorLog:                     reporter.ErrorLog(),
	}
}

// newAdminServer returns a server for few clients, which need no long headers and no HTTP/2.
func newAdminServer(handler http.Handler, reporter *rejections.Reporter) *http.Server {
	server := newServer(handler, maxAdminHeaders, reporter)
	server.Protocols.SetUnencryptedHTTP2(false)
	server.MaxHeaderBytes = maxAdminHeaders // no handler rejects larger ones
	return server
}

func port(listener net.Listener) string {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return "" // not a TCP listener
	}
	return port
}
