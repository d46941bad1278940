package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// families returns the metrics as Prometheus reads them.
func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return parsed
}

// series returns the nonzero values of a metric family, keyed by labels.
func series(t *testing.T, m *metrics, name string) map[string]float64 {
	t.Helper()
	all := values(families(t, echotest.Record(newAdmin(newLifecycle(), m), "/metrics").Body.String())[name])
	maps.DeleteFunc(all, func(_ string, value float64) bool { return value == 0 })
	return all
}

// totalDuration returns the total duration of all requests, in seconds.
func totalDuration(t *testing.T, m *metrics) float64 {
	t.Helper()
	var metric dto.Metric
	if err := m.duration.Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetHistogram().GetSampleSum()
}

// counted returns the value of a counter.
func counted(counters *prometheus.CounterVec, labels ...string) int {
	return int(testutil.ToFloat64(counters.WithLabelValues(labels...)))
}

// values returns all values of a metric family, keyed by labels.
func values(family *dto.MetricFamily) map[string]float64 {
	values := map[string]float64{}
	for _, metric := range family.GetMetric() {
		var labels []string
		for _, label := range metric.GetLabel() {
			labels = append(labels, label.GetName()+"="+label.GetValue())
		}
		values[strings.Join(labels, ",")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return values
}

func TestMetrics(t *testing.T) {
	h := handlerOf(t)
	server, admin := serve(t, h), serve(t, newAdmin(h.life, h.metrics))
	sender := echotest.Clients(t)
	echotest.Send(t, sender["HTTP/1.1"], http.MethodGet, server.URL+"/?echo.status=503&echo.set-header=X-A:1&echo.set-header=X-B:2", "")
	echotest.Send(t, sender["HTTP/1.1"], "BREW", server.URL+"/"+strings.Repeat("x", 1000), "")
	echotest.Send(t, sender["HTTP/2.0"], http.MethodPost, server.URL+"/-/body", "hello")
	echotest.Send(t, sender["HTTP/2.0"], http.MethodPost, server.URL+"/a/b", "", "Content-Type", "application/grpc")
	echotest.Send(t, sender["HTTP/1.1"], "BREW", admin.URL+"/readyz", "") // probes may use any method
	echotest.Send(t, sender["HTTP/1.1"], http.MethodGet, server.URL+"/-/livez", "")
	read := families(t, echotest.Send(t, sender["HTTP/1.1"], http.MethodGet, admin.URL+"/metrics", "").Text)
	names := []string{"echo_build_info", "echo_connections", "echo_controls_total", "echo_draining", "echo_grpc_requests_total",
		"echo_http_request_duration_seconds", "echo_http_requests_in_flight", "echo_http_requests_total", "echo_rejected_total",
		"echo_reserved_bytes", "echo_reserved_bytes_limit", "echo_websocket_connections"}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(read))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	reasons := map[string]float64{}
	for _, reason := range append(transport.Reasons(), "body", "connections", "delays", "grpc_message", "handshakes", "header", "memory",
		"websocket_message") {
		reasons["reason="+reason] = 0
	}
	for name, want := range map[string]map[string]float64{
		"echo_http_requests_total": {
			"code=503,listener=http,method=GET,proto=HTTP/1.1": 1, "code=200,listener=http,method=GET,proto=HTTP/1.1": 1,
			"code=200,listener=http,method=other,proto=HTTP/1.1": 1, "code=200,listener=http,method=POST,proto=HTTP/2.0": 2,
			"code=200,listener=admin,method=other,proto=HTTP/1.1": 1},
		"echo_controls_total": {"control=status": 1, "control=set-header": 2, "control=delay": 0, "control=size": 0, "control=format": 0,
			"control=body": 0, "control=early-hints": 0, "control=percentage": 0, "control=failures": 0, "control=connection": 0,
			"control=fault": 0, "control=grpc-status": 0, "control=handshake": 0},
		"echo_rejected_total":          reasons,
		"echo_grpc_requests_total":     {"code=UNIMPLEMENTED,method=other": 1},
		"echo_draining":                {"": 0},
		"echo_websocket_connections":   {"": 0},
		"echo_http_requests_in_flight": {"": 1}, // the request for the metrics
	} {
		if diff := cmp.Diff(want, values(read[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	h.life.draining.Store(true)
	if got := series(t, h.metrics, "echo_draining")[""]; got != 1 {
		t.Errorf("while it drains, echo_draining is %g", got)
	}
	if count := read["echo_http_request_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); count != 6 {
		t.Errorf("the histogram has %d requests", count)
	}
}

// TestMetrics_limitsLabelValues checks that clients cannot create label values, because each value uses memory permanently.
func TestMetrics_limitsLabelValues(t *testing.T) {
	for name, c := range map[string]struct {
		request             http.Request
		wantProto, wantName string
	}{
		"HTTP/1.0":               {http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 0}, "HTTP/1.0", "GET"},
		"HTTP/1.1":               {http.Request{Method: http.MethodHead, ProtoMajor: 1, ProtoMinor: 1}, "HTTP/1.1", "HEAD"},
		"HTTP/2":                 {http.Request{Method: http.MethodPost, ProtoMajor: 2}, "HTTP/2.0", "POST"},
		"a later minor version":  {http.Request{Method: http.MethodPut, ProtoMajor: 1, ProtoMinor: 9}, "HTTP/1.1", "PUT"},
		"a method in lower case": {http.Request{Method: strings.ToLower(http.MethodGet), ProtoMajor: 2}, "HTTP/2.0", "other"},
		"an unknown method":      {http.Request{Method: "PROPFIND", ProtoMajor: 2}, "HTTP/2.0", "other"},
		"no method":              {http.Request{ProtoMajor: 2}, "HTTP/2.0", "other"},
	} {
		m := handlerOf(t).metrics
		m.ended("http", &c.request, http.StatusOK, 0)
		if counted(m.requests, "http", c.wantProto, c.wantName, "200") != 1 {
			t.Errorf("%s: counted is %v", name, series(t, m, "echo_http_requests_total"))
		}
	}
}
