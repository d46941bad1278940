package server

import (
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpc"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/echoserver/websocket"
)

// limitBody is the reason that echo_rejected_total reports for rejected bodies.
const limitBody = "body"

// These constants are the status codes for requests without a response.
const (
	statusNoResponse          = 444 // the server reset the connection instead of responding
	statusClientClosedRequest = 499 // the client disconnected first
)

// metrics contains the server's metrics. Clients cannot choose the label values.
type metrics struct {
	registry    *prometheus.Registry
	budget      *transport.Budget
	inFlight    atomic.Int64
	connections atomic.Int64
	webSockets  atomic.Int64
	tls         transport.TLSMetrics

	requests *prometheus.CounterVec
	calls    *prometheus.CounterVec
	duration prometheus.Histogram
	controls *prometheus.CounterVec
	rejected *prometheus.CounterVec
}

// newMetrics returns the metrics for a server with the given version. The function draining reports whether the server is draining.
func newMetrics(version string, b *transport.Budget, draining func() bool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		budget:   b,
		requests: counters("echo_http_requests_total", "Requests completed.", "listener", "proto", "method", "code"),
		calls:    counters("echo_grpc_requests_total", "gRPC calls completed.", "method", "code"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "echo_http_request_duration_seconds",
			Help:    "The duration of requests in seconds.",
			Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30}}), // up to the longest delay
		controls: counters("echo_controls_total", "Controls applied to responses.", "control"),
		rejected: counters("echo_rejected_total", "Requests, connections, and messages that were rejected or truncated.", "reason"),
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(m.requests, m.calls, m.duration, m.controls, m.rejected,
		gauge("echo_build_info", "The versions of the server and of Go; the value is always 1.",
			prometheus.Labels{"version": version, "goversion": runtime.Version()}, func() int64 { return 1 }),
		gauge("echo_draining", "1 while the server is draining.", nil, func() int64 {
			if draining() {
				return 1
			}
			return 0
		}),
		gauge("echo_http_requests_in_flight", "Requests in progress.", nil, m.inFlight.Load),
		gauge("echo_connections", "Open connections.", nil, m.connections.Load),
		gauge("echo_websocket_connections", "Open WebSockets.", nil, m.webSockets.Load))
	for by, p := range map[string]*transport.Pool{"connections": &b.Connections, "requests": &b.Requests} {
		labels := prometheus.Labels{"by": by}
		m.registry.MustRegister(
			gauge("echo_reserved_bytes", "Bytes of memory that are reserved for connections and requests.", labels, p.Used.Load),
			gauge("echo_reserved_bytes_limit", "The upper limit of echo_reserved_bytes, which depends on the memory limit.", labels,
				func() int64 { return p.Limit }))
	}
	// Series start with the value 0, so that Prometheus sees the increase to 1.
	for _, control := range controls.Names() {
		m.controls.WithLabelValues(control)
	}
	limits := []string{limitBody, transport.LimitConnections, exchange.LimitDelays, transport.LimitHandshakes, transport.LimitHeader,
		transport.LimitMemory, websocket.LimitMessage, grpc.LimitMessage}
	for _, reason := range append(limits, transport.Reasons()...) {
		m.rejected.WithLabelValues(reason)
	}
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (m *metrics) exposeTLS() {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "echo_tls_certificate_expiry_seconds",
			Help: "The Unix time at which the served certificate expires."}, func() float64 { return float64(m.tls.Expiry.Load()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "echo_tls_reload_failures_total",
			Help: "Failed certificate rotations; the previous certificate remains in use."},
			func() float64 { return float64(m.tls.ReloadFailures.Load()) }))
}

// expose responds with the metrics in text format. It does not use promhttp, whose compression would make the program too large.
func (m *metrics) expose(e *exchange.Exchange) {
	families, err := m.registry.Gather()
	if err != nil {
		exchange.Reject(e, http.StatusInternalServerError, err.Error())
		return
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	e.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(e, format)
	for _, family := range families {
		_ = encoder.Encode(family) // the client may have disconnected
	}
}

func (m *metrics) ended(listener string, r *http.Request, status int, took time.Duration) {
	m.inFlight.Add(-1)
	m.requests.WithLabelValues(listener, knownProto(r), knownMethod(r.Method), knownCode(status)).Inc()
	m.duration.Observe(took.Seconds())
}

func (m *metrics) applied(control, _ string) { m.controls.WithLabelValues(control).Inc() }

func (m *metrics) called(method, status string) { m.calls.WithLabelValues(method, status).Inc() }

// Rejected counts a request, connection, or message that was rejected or truncated.
func (m *metrics) Rejected(reason string) { m.rejected.WithLabelValues(reason).Inc() }

func knownProto(r *http.Request) string {
	switch {
	case r.ProtoMajor == 2:
		return "HTTP/2.0"
	case r.ProtoMinor == 0:
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect,
		http.MethodOptions, http.MethodTrace:
		return method
	}
	return "other"
}

// knownCode returns a status code if it is common, or the class of any other code, so that clients cannot create series by choosing codes.
func knownCode(status int) string {
	switch status {
	case 101, 200, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 408, 413, 414, 415, 426, 429, 431, statusNoResponse, statusClientClosedRequest,
		500, 502, 503, 504:
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}
