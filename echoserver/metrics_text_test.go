package main

import (
	"bytes"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sample is a line of the text format: the family, what follows it in the name of the series, the labels and the value.
type sample struct{ family, suffix, labels, value string }

// readMetrics reads the text format by its rules, more strictly than Prometheus does: each family has a HELP, then a TYPE, then
// all its samples, and no series is there twice. It returns the types of the families and the samples, both in order.
func readMetrics(t *testing.T, text string) (types []string, samples []sample) {
	t.Helper()
	label := `[a-z]+="(?:[^"\\\n]|\\[\\"n])*"`
	help := regexp.MustCompile(`^# HELP ([a-z_]+) ([^\n]+)$`)
	kind := regexp.MustCompile(`^# TYPE ([a-z_]+) (counter|gauge|histogram)$`)
	line := regexp.MustCompile(`^([a-z_]+?)(_bucket|_sum|_count)?(?:\{(` + label + `(?:,` + label + `)*)\})? (\S+)$`)
	seen, family, helped := map[string]bool{}, "", ""
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	for each := range strings.Lines(text) {
		each = strings.TrimSuffix(each, "\n")
		if match := help.FindStringSubmatch(each); match != nil {
			helped = match[1]
		} else if match := kind.FindStringSubmatch(each); match != nil {
			family = match[1]
			types = append(types, match[1]+" "+match[2])
			if helped != family || seen[family] {
				t.Errorf("the type of %s follows the help of %s, or is there twice", family, helped)
			}
			seen[family] = true
		} else if match := line.FindStringSubmatch(each); match != nil {
			series := match[1] + match[2] + "{" + match[3] + "}"
			if match[1] != family || seen[series] {
				t.Errorf("%s is among the samples of %s, or is there twice", series, family)
			}
			seen[series] = true
			samples = append(samples, sample{match[1], match[2], match[3], match[4]})
		} else {
			t.Errorf("the line %q has not the text format", each)
		}
	}
	return types, samples
}

// TestMetricsFormat checks a server without requests, on which alerts on missing series must not fire.
func TestMetricsFormat(t *testing.T) {
	types, samples := readMetrics(t, string(newMetrics(newBudget(unlimitedMemory)).text(false)))
	want := []string{"echo_build_info gauge", "echo_draining gauge", "echo_http_requests_in_flight gauge", "echo_connections gauge",
		"echo_held_bytes gauge", "echo_held_bytes_limit gauge", "echo_websocket_connections gauge",
		"echo_http_requests_total counter", "echo_grpc_requests_total counter", "echo_http_request_duration_seconds histogram", "echo_controls_total counter",
		"echo_limited_total counter"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	var zero []string
	for _, each := range samples {
		switch {
		case each.family == "echo_build_info":
			if each != (sample{"echo_build_info", "", `version="` + version + `",goversion="` + runtime.Version() + `"`, "1"}) {
				t.Errorf("the build is %+v", each)
			}
		case each.family == "echo_held_bytes_limit":
		case each.value != "0":
			t.Errorf("%+v is not zero", each)
		case each.family == "echo_controls_total", each.family == "echo_limited_total":
			zero = append(zero, each.labels)
		}
	}
	wantZero := []string{`control="body"`, `control="connection"`, `control="delay"`, `control="failures"`, `control="fault"`,
		`control="format"`, `control="grpc-status"`, `control="percentage"`, `control="set-header"`, `control="size"`, `control="status"`,
		`reason="body"`, `reason="connections"`, `reason="delays"`, `reason="grpc_message"`, `reason="handshakes"`, `reason="header"`, `reason="memory"`,
		`reason="websocket_message"`}
	if diff := cmp.Diff(wantZero, zero); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestMetricsValues gives each metric a value of its own.
func TestMetricsValues(t *testing.T) {
	m := newMetrics(newBudget(unlimitedMemory))
	m.inFlight.Store(2)
	m.webSockets.Store(3)
	m.connections.Store(4)
	m.budget.connections.take(5)
	m.budget.requests.take(6)
	m.requests[requestLabels{"http", "HTTP/1.1", "GET", "200"}] = 1 << 63
	m.limited(limitConnections)
	m.applied(&applied{SetHeader: []string{"X-A", "X-B"}})
	m.called("a/B", grpcNotFound)
	m.appliedToCall(grpcControls{code: grpcNotFound, delay: 1})
	_, samples := readMetrics(t, string(m.text(true)))
	for _, want := range []sample{
		{"echo_draining", "", "", "1"}, {"echo_http_requests_in_flight", "", "", "2"}, {"echo_websocket_connections", "", "", "3"},
		{"echo_connections", "", "", "4"}, {"echo_held_bytes", "", `by="connections"`, "5"}, {"echo_held_bytes", "", `by="requests"`, "6"},
		{"echo_held_bytes_limit", "", `by="connections"`, strconv.Itoa(unlimitedMemory / 4)},
		{"echo_held_bytes_limit", "", `by="requests"`, strconv.Itoa(unlimitedMemory / 4)},
		{"echo_http_requests_total", "", `listener="http",proto="HTTP/1.1",method="GET",code="200"`, "9223372036854775808"},
		{"echo_limited_total", "", `reason="connections"`, "1"}, {"echo_limited_total", "", `reason="body"`, "0"},
		{"echo_controls_total", "", `control="set-header"`, "2"}, {"echo_controls_total", "", `control="status"`, "0"},
		{"echo_controls_total", "", `control="grpc-status"`, "1"}, {"echo_controls_total", "", `control="delay"`, "1"},
		{"echo_grpc_requests_total", "", `method="a/B",code="NOT_FOUND"`, "1"},
	} {
		if !slices.Contains(samples, want) {
			t.Errorf("%+v is missing in %+v", want, samples)
		}
	}
}

// TestMetricsOrder checks that requests are sorted by listener, protocol, method and code, in this order: every scrape has the same.
func TestMetricsOrder(t *testing.T) {
	m := newMetrics(newBudget(unlimitedMemory))
	labels := []requestLabels{{"admin", "HTTP/2.0", "PUT", "599"}, {"http", "HTTP/1.0", "PUT", "500"}, {"http", "HTTP/1.1", "GET", "503"}, {"http", "HTTP/1.1", "POST", "200"},
		{"http", "HTTP/2.0", "GET", "200"}}
	for code := 201; code < 220; code++ { // enough that no random order is the right one
		labels = slices.Insert(labels, len(labels)-1, requestLabels{"http", "HTTP/1.1", "POST", strconv.Itoa(code)})
	}
	want := make([]string, len(labels))
	for i, l := range labels {
		m.requests[l] = uint64(i + 1)
		want[i] = `listener="` + l.listener + `",proto="` + l.proto + `",method="` + l.method + `",code="` + l.code + `" ` + strconv.Itoa(i+1)
	}
	_, samples := readMetrics(t, string(m.text(false)))
	var got []string
	for _, each := range samples {
		if each.family == "echo_http_requests_total" {
			got = append(got, each.labels+" "+each.value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMetricsBuckets observes each bound of the histogram, and the next values below and above it.
func TestMetricsBuckets(t *testing.T) {
	bounds := []string{"0.0005", "0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "10", "30", "+Inf"}
	for i, text := range bounds[:len(bounds)-1] {
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for value, first := range map[float64]int{math.Nextafter(bound, 0): i, bound: i, math.Nextafter(bound, math.MaxFloat64): i + 1} {
			h := histogram{}
			h.observe(value)
			h.observe(31)
			var b bytes.Buffer
			h.text(&b, "x")
			var want strings.Builder
			for j, each := range bounds {
				count := map[bool]int{true: 1}[j >= first] + map[bool]int{true: 1}[each == "+Inf"]
				want.WriteString(`x_bucket{le="` + each + `"} ` + strconv.Itoa(count) + "\n")
			}
			want.WriteString("x_sum " + strconv.FormatFloat(value+31, 'g', -1, 64) + "\nx_count 2\n")
			if diff := cmp.Diff(want.String(), b.String()); diff != "" {
				t.Errorf("%g (-want +got):\n%s", value, diff)
			}
		}
	}
}

// TestMetricsUnderLoad reads the metrics while requests are counted: every scrape must be consistent in itself.
func TestMetricsUnderLoad(t *testing.T) {
	m := newMetrics(newBudget(unlimitedMemory))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			r := answeredRequest()
			for range 200 {
				m.began()
				m.ended("http", &exchange{began: time.Now()}, r)
			}
		})
	}
	last := 0
	scrape := func() {
		read := families(t, string(m.text(false)))
		counted := int(values(read["echo_http_requests_total"])["listener=http,proto=HTTP/1.1,method=GET,code=200"])
		histogram := read["echo_http_request_duration_seconds"].GetMetric()[0].GetHistogram()
		buckets := histogram.GetBucket()
		if counted < last || int(histogram.GetSampleCount()) != counted || int(buckets[len(buckets)-1].GetCumulativeCount()) != counted {
			t.Errorf("%d requests after %d, the histogram is %v", counted, last, histogram)
		}
		last = counted
	}
	for range 50 {
		scrape()
	}
	all.Wait()
	if scrape(); last != 800 {
		t.Errorf("%d requests are counted", last)
	}
	if m.inFlight.Load() != 0 {
		t.Errorf("%d requests are in flight at the end", m.inFlight.Load())
	}
}
