package main

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The reasons of echo_limited_total.
const (
	limitBody        = "body"
	limitConnections = "connections"
	limitDelays      = "delays"
	limitHandshakes  = "handshakes"
	limitHeader      = "header"
	limitMemory      = "memory"
	limitMessage     = "websocket_message"
)

// metrics contains all metrics. Clients cannot choose the values of labels.
type metrics struct {
	budget      *budget // whose use is shown
	inFlight    atomic.Int64
	connections atomic.Int64
	webSockets  atomic.Int64
	tls         tlsMetrics

	mutex    sync.Mutex
	requests map[requestLabels]uint64
	calls    map[string]uint64 // by labels
	duration histogram
	controls map[string]uint64
	limits   map[string]uint64
}

type requestLabels struct {
	listener, proto, method string
	code                    string
}

func newMetrics(b *budget) *metrics {
	return &metrics{
		budget:   b,
		requests: map[requestLabels]uint64{},
		calls:    map[string]uint64{},
		controls: map[string]uint64{"status": 0, "delay": 0, "set-header": 0, "size": 0, "format": 0, "percentage": 0, "failures": 0,
			"connection": 0, "fault": 0, "body": 0, "grpc-status": 0},
		limits: map[string]uint64{limitBody: 0, limitConnections: 0, limitDelays: 0, limitHandshakes: 0, limitHeader: 0, limitMemory: 0,
			limitMessage: 0, limitGRPCMessage: 0},
	}
}

func (m *metrics) began() { m.inFlight.Add(1) }

// ended counts a completed request.
func (m *metrics) ended(listener string, e *exchange, r *http.Request) {
	m.inFlight.Add(-1)
	labels := requestLabels{listener, knownProto(r), knownMethod(r.Method), knownCode(e.statusOrOK())}
	seconds := time.Since(e.began).Seconds()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.requests[labels]++
	m.duration.observe(seconds)
}

func (m *metrics) applied(a *applied) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	a.each(func(name, _ string) { m.controls[name]++ })
}

// limited counts a request or message that was rejected or truncated because of a limit.
func (m *metrics) limited(reason string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.limits[reason]++
}

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

// knownCode returns a status code that is usual for servers, or the class of another one: clients can choose the code.
func knownCode(status int) string {
	switch status {
	case http.StatusOK: // nearly all
		return "200"
	case 101, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 408, 413, 414, 415, 426, 429, 431, statusNoResponse, statusClientClosedRequest, 500, 502, 503, 504:
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}

// buckets returns the upper bounds of echo_http_request_duration_seconds. The longest delay is 30 s.
func buckets() []float64 { return []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30} }

type histogram struct {
	counts [11]uint64 // by bucket, not cumulative
	sum    float64
	count  uint64
}

func (h *histogram) observe(seconds float64) {
	if i, _ := slices.BinarySearch(buckets(), seconds); i < len(h.counts) {
		h.counts[i]++
	}
	h.sum += seconds
	h.count++
}

func byLabels(a, b requestLabels) int {
	return cmp.Or(cmp.Compare(a.listener, b.listener), cmp.Compare(a.proto, b.proto), cmp.Compare(a.method, b.method),
		cmp.Compare(a.code, b.code))
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
