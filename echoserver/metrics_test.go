package main

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
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

// values returns a family's values by their labels.
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
	sender := clients(t)
	send(t, sender["HTTP/1.1"], http.MethodGet, server.URL+"/?echo.status=503&echo.set-header=X-A:1&echo.set-header=X-B:2", "")
	send(t, sender["HTTP/1.1"], "BREW", server.URL+"/"+strings.Repeat("x", 1000), "")
	send(t, sender["HTTP/2.0"], http.MethodPost, server.URL+"/-/body", "hello")
	send(t, sender["HTTP/2.0"], http.MethodPost, server.URL+"/a/b", "", "Content-Type", grpcType)
	send(t, sender["HTTP/1.1"], http.MethodGet, admin.URL+"/readyz", "")
	send(t, sender["HTTP/1.1"], http.MethodGet, server.URL+"/-/livez", "")
	got := send(t, sender["HTTP/1.1"], http.MethodGet, admin.URL+"/metrics", "")
	if got.Header.Get("Content-Type") != metricsType {
		t.Errorf("the type is %s", got.Header.Get("Content-Type"))
	}
	read := families(t, got.body)
	names := []string{"echo_build_info", "echo_connections", "echo_controls_total", "echo_draining", "echo_grpc_requests_total", "echo_held_bytes",
		"echo_held_bytes_limit", "echo_http_request_duration_seconds", "echo_http_requests_in_flight",
		"echo_http_requests_total", "echo_limited_total", "echo_websocket_connections"}
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(read))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for name, want := range map[string]map[string]float64{
		"echo_http_requests_total": {
			"listener=http,proto=HTTP/1.1,method=GET,code=503": 1, "listener=http,proto=HTTP/1.1,method=GET,code=200": 1,
			"listener=http,proto=HTTP/1.1,method=other,code=200": 1, "listener=http,proto=HTTP/2.0,method=POST,code=200": 2,
			"listener=admin,proto=HTTP/1.1,method=GET,code=200": 1},
		"echo_controls_total": {"control=status": 1, "control=set-header": 2, "control=delay": 0, "control=size": 0, "control=format": 0, "control=body": 0,
			"control=percentage": 0, "control=failures": 0, "control=connection": 0, "control=fault": 0, "control=grpc-status": 0},
		"echo_limited_total": {"reason=body": 0, "reason=connections": 0, "reason=delays": 0, "reason=grpc_message": 0, "reason=handshakes": 0,
			"reason=header": 0, "reason=memory": 0, "reason=websocket_message": 0},
		"echo_grpc_requests_total":     {"method=other,code=UNIMPLEMENTED": 1},
		"echo_draining":                {"": 0},
		"echo_websocket_connections":   {"": 0},
		"echo_http_requests_in_flight": {"": 1}, // this one
	} {
		if diff := cmp.Diff(want, values(read[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if count := read["echo_http_request_duration_seconds"].GetMetric()[0].GetHistogram().GetSampleCount(); count != 6 {
		t.Errorf("the histogram has %d requests", count)
	}
	h.life.draining.Store(true)
	if got := values(families(t, string(h.metrics.text(true)))["echo_draining"]); got[""] != 1 {
		t.Errorf("draining is %v", got)
	}
}

func TestHistogram(t *testing.T) {
	if len(histogram{}.counts) != len(buckets()) {
		t.Fatal("there are not as many counts as buckets")
	}
	m := newMetrics(newBudget(unlimitedMemory))
	for _, seconds := range []float64{0, .0005, .00051, 30, 31} {
		m.duration.observe(seconds)
	}
	h := families(t, string(m.text(false)))["echo_http_request_duration_seconds"].GetMetric()[0].GetHistogram()
	got := map[float64]uint64{}
	for _, bucket := range h.GetBucket() {
		got[bucket.GetUpperBound()] = bucket.GetCumulativeCount()
	}
	if got[.0005] != 2 || got[.001] != 3 || got[10] != 3 || got[30] != 4 || h.GetSampleCount() != 5 || h.GetSampleSum() != 61.00101 {
		t.Errorf("it is %v", h)
	}
}

// TestMetricsLabels checks that clients cannot make up labels, of which each would cost memory for good.
func TestMetricsLabels(t *testing.T) {
	for name, c := range map[string]struct {
		request http.Request
		want    requestLabels
	}{
		"HTTP/1.0":               {http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 0}, requestLabels{"http", "HTTP/1.0", "GET", "200"}},
		"HTTP/1.1":               {http.Request{Method: http.MethodHead, ProtoMajor: 1, ProtoMinor: 1}, requestLabels{"http", "HTTP/1.1", "HEAD", "200"}},
		"HTTP/2":                 {http.Request{Method: http.MethodPost, ProtoMajor: 2, ProtoMinor: 0}, requestLabels{"http", "HTTP/2.0", "POST", "200"}},
		"a later minor version":  {http.Request{Method: http.MethodPut, ProtoMajor: 1, ProtoMinor: 9}, requestLabels{"http", "HTTP/1.1", "PUT", "200"}},
		"PATCH":                  {http.Request{Method: http.MethodPatch, ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "PATCH", "200"}},
		"DELETE":                 {http.Request{Method: http.MethodDelete, ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "DELETE", "200"}},
		"CONNECT":                {http.Request{Method: http.MethodConnect, ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "CONNECT", "200"}},
		"OPTIONS":                {http.Request{Method: http.MethodOptions, ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "OPTIONS", "200"}},
		"TRACE":                  {http.Request{Method: http.MethodTrace, ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "TRACE", "200"}},
		"a method in lower case": {http.Request{Method: strings.ToLower(http.MethodGet), ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "other", "200"}},
		"an unknown method":      {http.Request{Method: "PROPFIND", ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "other", "200"}},
		"no method":              {http.Request{ProtoMajor: 2}, requestLabels{"http", "HTTP/2.0", "other", "200"}},
	} {
		m := newMetrics(newBudget(unlimitedMemory))
		m.ended("http", &exchange{}, &c.request)
		if diff := cmp.Diff(map[requestLabels]uint64{c.want: 1}, m.requests, cmp.AllowUnexported(requestLabels{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// answeredRequest returns a request as the server gets most.
func answeredRequest() *http.Request {
	return &http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 1}
}
