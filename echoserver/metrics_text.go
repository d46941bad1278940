package main

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
)

// metricsType is the media type of the Prometheus text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// text returns all metrics in the Prometheus text format.
func (m *metrics) text(draining bool) []byte {
	var b bytes.Buffer
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind) }
	gauge := func(name, help string, value int64) {
		family(name, "gauge", help)
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	drainingNow := int64(0)
	if draining {
		drainingNow = 1
	}
	family("echo_build_info", "gauge", "The versions of the server and of Go; the value is always 1.")
	fmt.Fprintf(&b, "echo_build_info{version=%q,goversion=%q} 1\n", version, runtime.Version())
	gauge("echo_draining", "1 while the server is draining.", drainingNow)
	gauge("echo_http_requests_in_flight", "Requests in progress.", m.inFlight.Load())
	gauge("echo_connections", "Open connections.", m.connections.Load())
	family("echo_held_bytes", "gauge", "Bytes that are reserved for what connections and requests hold.")
	held(&b, "echo_held_bytes", m.budget.connections.used.Load(), m.budget.requests.used.Load())
	family("echo_held_bytes_limit", "gauge", "The maximum of echo_held_bytes, which follows from the memory limit.")
	held(&b, "echo_held_bytes_limit", m.budget.connections.limit, m.budget.requests.limit)
	gauge("echo_websocket_connections", "Open WebSockets.", m.webSockets.Load())
	m.tls.text(&b)

	m.mutex.Lock()
	defer m.mutex.Unlock()
	family("echo_http_requests_total", "counter", "Requests completed.")
	for _, l := range slices.SortedFunc(maps.Keys(m.requests), byLabels) {
		fmt.Fprintf(&b, "echo_http_requests_total{listener=%q,proto=%q,method=%q,code=%q} %d\n",
			l.listener, l.proto, l.method, l.code, m.requests[l])
	}
	family("echo_grpc_requests_total", "counter", "gRPC calls completed.")
	m.callsText(&b)
	family("echo_http_request_duration_seconds", "histogram", "The duration of requests in seconds.")
	m.duration.text(&b, "echo_http_request_duration_seconds")
	family("echo_controls_total", "counter", "Controls applied to responses.")
	counters(&b, "echo_controls_total", "control", m.controls)
	family("echo_limited_total", "counter", "Requests, connections and messages that were rejected or truncated because of a limit.")
	counters(&b, "echo_limited_total", "reason", m.limits)
	return b.Bytes()
}

func (h *histogram) text(b *bytes.Buffer, name string) {
	cumulated := uint64(0)
	for i, bound := range buckets() {
		cumulated += h.counts[i]
		fmt.Fprintf(b, "%s_bucket{le=%q} %d\n", name, number(bound), cumulated)
	}
	fmt.Fprintf(b, "%s_bucket{le=\"+Inf\"} %d\n%[1]s_sum %[3]s\n%[1]s_count %[2]d\n", name, h.count, number(h.sum))
}

func held(b *bytes.Buffer, name string, connections, requests int64) {
	fmt.Fprintf(b, "%s{by=\"connections\"} %d\n%[1]s{by=\"requests\"} %[3]d\n", name, connections, requests)
}

func counters(b *bytes.Buffer, name, label string, counts map[string]uint64) {
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(b, "%s{%s=%q} %d\n", name, label, value, counts[value])
	}
}
