// Package server is the echo server: it reads the settings, listens, admits requests, routes them, and shuts down.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// requestTimeout is how long a client may take to send a request. Handlers that read a long body extend it.
	requestTimeout = 30 * time.Second
	// pingTimeout is how long an HTTP/2 client may send nothing during a request before the server sends it a ping.
	pingTimeout = 30 * time.Second
	// adminConnections is the maximum number of connections to the admin port. At the limit, the server closes the oldest connection to accept
	// a new one, so that probes can always connect.
	adminConnections = 64
	// maxAdminHeaders is the maximum size, in bytes, of a header on the admin port.
	maxAdminHeaders = 4 << 10
	// maxStreams is the maximum number of requests in progress on an HTTP/2 connection. net/http allocates about 10 KiB for each request
	// before the handler can reject it. At the maximum number of connections, more than 32 requests per connection could exceed the memory
	// limit on a busy machine.
	maxStreams = 32
	// window is the maximum size, in bytes, of body data in transit on an HTTP/2 connection.
	window = 64 << 10
	// maxFrame is the maximum size, in bytes, of an HTTP/2 frame. net/http keeps a buffer of this size for each connection, so maxFrame is the
	// lowest value that RFC 9113 (4.2) allows.
	maxFrame = 16 << 10
)

// Run serves until ctx is done, then drains and returns nil.
func Run(ctx context.Context, s Settings, version string, log *slog.Logger) error {
	s.version = version
	if s.Listen == nil {
		s.Listen = (&net.ListenConfig{}).Listen
	}
	life := newLifecycle()
	metrics := newMetrics(version, transport.NewBudget(transport.AvailableMemory()), life.draining.Load)
	reporter := transport.NewReporter(log, metrics.Rejected)
	public, err := listenPublic(ctx, s, metrics, reporter, log)
	if err != nil {
		return err
	}
	defer closeAll(public)
	private, err := transport.ListenDualStack(ctx, s.Listen, s.AdminAddress)
	if err != nil {
		return err
	}

	_, port, _ := net.SplitHostPort(public[0].Addr().String()) // always valid, because it is the address of a TCP listener
	handler := newHandler(s, port, life, metrics, log)
	server := newServer(handler, s.maxHeaderBytes, reporter)
	admin := newAdminServer(newAdmin(life, metrics), reporter)
	defer func() { _ = admin.Close() }()
	ended := make(chan error, 3)
	for _, listener := range public {
		go func() { ended <- server.Serve(listener) }()
	}
	go func() { ended <- admin.Serve(transport.NewEvictingListener(private, adminConnections)) }()
	attributes := []any{"address", public[0].Addr().String(), "admin", private.Addr().String(), "version", version}
	if len(public) > 1 {
		attributes = append(attributes, "https", public[1].Addr().String())
	}
	log.Info("listening", attributes...)
	if len(s.unknown) > 0 {
		log.Warn("these environment variables begin with ECHO_, but are not settings and have no effect", "names", s.unknown)
	}
	if s.controls == controls.Full {
		log.Warn("controls are Full: requests can set headers that proxies, caches, and browsers act on; use this only in private networks")
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		life.drain(server, s.drainDelay, log)
		return nil
	}
}

// listenPublic listens on the HTTP port and, if enabled, on the HTTPS port. Connections to both ports share one limit and one budget.
func listenPublic(ctx context.Context, s Settings, m *metrics, reporter *transport.Reporter, log *slog.Logger) ([]net.Listener, error) {
	var public []net.Listener
	b := &transport.Bounds{Budget: m.budget, OpenConnections: &m.connections, Reporter: reporter,
		MaxHeaderBytes: s.maxHeaderBytes, Log: log}
	if s.tls.Address != "" { // before HTTP, so that the server is not ready without a certificate
		certificates, err := transport.AwaitCertificates(ctx, s.tls, &m.tls, log)
		if err != nil {
			return nil, err
		}
		listener, err := transport.ListenDualStack(ctx, s.Listen, s.tls.Address)
		if err != nil {
			return nil, err
		}
		m.exposeTLS()
		go certificates.Follow(ctx)
		secure := transport.NewTLSListener(listener, certificates, reporter)
		public = append(public, transport.NewBoundedListener(secure, transport.TLSConnectionCost, b))
	}
	plain, err := transport.ListenDualStack(ctx, s.Listen, s.httpAddress)
	if err != nil {
		closeAll(public)
		return nil, err
	}
	return append([]net.Listener{transport.NewBoundedListener(plain, transport.Cost, b)}, public...), nil
}

func closeAll(listeners []net.Listener) {
	for _, each := range listeners {
		_ = each.Close() // the listener may already be closed
	}
}

// newServer returns a server that accepts HTTP/1.1 and plain-text HTTP/2 with prior knowledge (RFC 9113, 3.3) on the same port. The server
// decodes headers larger than maxHeaderBytes, so that the connection (HTTP/1.1) or the handler (HTTP/2) can reject them.
func newServer(handler http.Handler, maxHeaderBytes int, reporter *transport.Reporter) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           transport.Handle(handler),
		Protocols:         protocols,
		ReadHeaderTimeout: transport.HeaderTimeout,
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
		ConnContext:                  transport.WithConnection,
		ConnState:                    transport.TrackState,
		IdleTimeout:                  transport.IdleTimeout,
		MaxHeaderBytes:               transport.DecoderFactor * maxHeaderBytes,
		DisableGeneralOptionsHandler: true, // so that OPTIONS * is echoed
		ErrorLog:                     reporter.ErrorLog(),
	}
}

// newAdminServer returns the server for the admin port. Its few clients need neither long headers nor HTTP/2.
func newAdminServer(handler http.Handler, reporter *transport.Reporter) *http.Server {
	server := newServer(handler, maxAdminHeaders, reporter)
	server.Protocols.SetUnencryptedHTTP2(false)
	server.MaxHeaderBytes = maxAdminHeaders // because the admin handler does not check header sizes
	return server
}

// shutdownTimeout is how long requests may take after the server stops listening.
const shutdownTimeout = 20 * time.Second

// lifecycle is the state of the server: serving, then draining, then shutting down.
type lifecycle struct {
	draining   atomic.Bool    // the server is not ready but still responds
	notReady   chan struct{}  // closed when the server begins to drain
	ending     chan struct{}  // closed when the server stops accepting connections
	webSockets sync.WaitGroup // counted because http.Server does not wait for them
}

func newLifecycle() *lifecycle {
	return &lifecycle{notReady: make(chan struct{}), ending: make(chan struct{})}
}

// drain makes the readiness probe fail. During the delay, while the pod is removed from its Service's endpoints, the server continues to
// respond. Then drain stops listening, ends delays and streams, and waits for the requests in flight.
func (l *lifecycle) drain(server *http.Server, delay time.Duration, log *slog.Logger) {
	log.Info("draining", "delay", delay.String())
	l.draining.Store(true)
	close(l.notReady)
	<-time.After(delay)
	close(l.ending)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	closed := make(chan struct{})
	go func() {
		l.webSockets.Wait()
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		log.Warn("stopping with requests in flight", "error", err.Error())
		_ = server.Close() // the process exits anyway
		return
	}
	log.Info("drained")
}

// newAdmin returns the handler of the admin port, which serves metrics and probes. Requests to this port are counted but not logged.
func newAdmin(life *lifecycle, metrics *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := exchange.New(w, r)
		metrics.inFlight.Add(1)
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
