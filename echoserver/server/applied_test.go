package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

func TestApplied(t *testing.T) {
	zero, many := 0, maxSize
	type wanted struct {
		applied *applied
		text    string
	}
	for name, c := range map[string]struct {
		controls controls
		want     wanted
	}{
		"none":           {controls{}, wanted{}},
		"status":         {controls{status: 503}, wanted{&applied{Status: 503}, "status=503"}},
		"delay":          {controls{delay: 2 * time.Second}, wanted{&applied{Delay: "2s"}, "delay=2s"}},
		"a header":       {controls{headers: []header{{"X-A", "secret"}}}, wanted{&applied{SetHeader: []string{"X-A"}}, "set-header=X-A"}},
		"a size":         {controls{size: &many}, wanted{&applied{Size: &many}, "size=16777216"}},
		"a size of zero": {controls{size: &zero}, wanted{&applied{Size: &zero}, "size=0"}},
		"a format":       {controls{format: formatText}, wanted{&applied{Format: formatText}, "format=text"}},
		"a fixed body":   {controls{body: "x"}, wanted{&applied{body: true}, "body=fixed"}},
		"all": {controls{status: 200, delay: time.Millisecond, headers: []header{{"X-B", "1"}, {"X-A", "2"}, {"X-B", "3"}}, size: &zero, format: formatHTML, body: "x"},
			wanted{&applied{Status: 200, Delay: "1ms", SetHeader: []string{"X-B", "X-A", "X-B"}, Size: &zero, Format: formatHTML, body: true},
				"status=200, delay=1ms, set-header=X-B, set-header=X-A, set-header=X-B, size=0, format=html, body=fixed"}},
		"a fault of the settings":    {controls{connection: connectionTruncate, fault: 1}, wanted{&applied{Connection: "truncate", Fault: &zero}, "connection=truncate, fault=0"}},
		"a fault of a request":       {controls{status: 503, percentage: 30, failures: 2}, wanted{&applied{Status: 503, Percentage: 30, Failures: 2}, "status=503, percentage=30, failures=2"}},
		"a delay is rounded up":      {controls{delay: 1500 * time.Microsecond}, wanted{&applied{Delay: "2ms"}, "delay=2ms"}},
		"a delay is rounded down":    {controls{delay: 1499 * time.Microsecond}, wanted{&applied{Delay: "1ms"}, "delay=1ms"}},
		"a delay close to zero":      {controls{delay: 1}, wanted{&applied{Delay: "0s"}, "delay=0s"}},
		"the longest delay":          {controls{delay: maxDelay}, wanted{&applied{Delay: "30s"}, "delay=30s"}},
		"a delay of several units":   {controls{delay: 12*time.Second + 34*time.Millisecond}, wanted{&applied{Delay: "12.034s"}, "delay=12.034s"}},
		"a status beside its format": {controls{status: 599, format: formatJSON}, wanted{&applied{Status: 599, Format: formatJSON}, "status=599, format=json"}},
	} {
		got := wanted{applied: c.controls.applied()}
		if got.applied != nil {
			got.text = got.applied.String()
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(applied{}, wanted{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAppliedIsReportedEverywhere checks that the header, the body and the metrics of a response report the same controls.
func TestAppliedIsReportedEverywhere(t *testing.T) {
	h := handlerOf(t)
	w := echotest.Record(h, "/?echo.status=418&echo.delay=1ms&echo.set-header=X-A:1&echo.set-header=X-B:2&echo.format=json")
	if got, want := w.Header().Get("X-Echo-Applied"), "status=418, delay=1ms, set-header=X-A, set-header=X-B, format=json"; got != want {
		t.Errorf("the header is %q, want %q", got, want)
	}
	want := &applied{Status: http.StatusTeapot, Delay: "1ms", SetHeader: []string{"X-A", "X-B"}, Format: formatJSON}
	if diff := cmp.Diff(want, decode(t, w.Body.String()).Applied, cmp.AllowUnexported(applied{})); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	counted := map[string]float64{"control=status": 1, "control=delay": 1, "control=set-header": 2, "control=format": 1}
	if diff := cmp.Diff(counted, series(t, h.metrics, "echo_controls_total")); diff != "" {
		t.Errorf("the metrics (-want +got):\n%s", diff)
	}
}

// TestAppliedIsAbsent checks the responses that no control has changed: a gateway's response must not look like them.
func TestAppliedIsAbsent(t *testing.T) {
	h := handlerOf(t)
	for name, target := range map[string]string{"no control": "/", "a parameter without the prefix": "/?status=503", "a refused control": "/?echo.status=1",
		"a refused control beside a good one": "/?echo.status=503&echo.size=-1", "a reserved path": "/-/livez?echo.status=503"} {
		w := echotest.Record(h, target)
		if values := w.Header().Values("X-Echo-Applied"); len(values) > 0 || strings.Contains(w.Body.String(), `"applied"`) {
			t.Errorf("%s: the header is %q, the body %s", name, values, w.Body)
		}
	}
	if counted := series(t, h.metrics, "echo_controls_total"); len(counted) > 0 {
		t.Errorf("counted are %v", counted)
	}
}
