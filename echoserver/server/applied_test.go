package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRespond_reportsAppliedControlsEverywhere checks that the header and body of a response, and the metrics, report the same controls.
func TestRespond_reportsAppliedControlsEverywhere(t *testing.T) {
	h := handlerOf(t)
	w := echotest.Record(h, "/?echo.status=418&echo.delay=1ms&echo.set-header=X-A:1&echo.set-header=X-B:2&echo.format=json")
	if got, want := w.Header().Get("X-Echo-Applied"), "status=418, delay=1ms, set-header=X-A, set-header=X-B, format=json"; got != want {
		t.Errorf("the header is %q, want %q", got, want)
	}
	want := map[string]any{"status": 418.0, "delay": "1ms", "setHeader": []any{"X-A", "X-B"}, "format": "json"}
	if diff := cmp.Diff(want, decode(t, w.Body.String()).Applied); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	counted := map[string]float64{"control=status": 1, "control=delay": 1, "control=set-header": 2, "control=format": 1}
	if diff := cmp.Diff(counted, series(t, h.metrics, "echo_controls_total")); diff != "" {
		t.Errorf("the metrics (-want +got):\n%s", diff)
	}
}

// TestRespond_omitsAppliedWithoutControls checks that a response reports no controls if no control changed it.
func TestRespond_omitsAppliedWithoutControls(t *testing.T) {
	h := handlerOf(t)
	for name, target := range map[string]string{"no control": "/", "a parameter without the prefix": "/?status=503",
		"a refused control":                "/?echo.status=1",
		"a refused control and a good one": "/?echo.status=503&echo.size=-1", "a reserved path": "/-/livez?echo.status=503"} {
		w := echotest.Record(h, target)
		if values := w.Header().Values("X-Echo-Applied"); len(values) > 0 || strings.Contains(w.Body.String(), `"applied"`) {
			t.Errorf("%s: the header is %q, the body %s", name, values, w.Body)
		}
	}
	if counted := series(t, h.metrics, "echo_controls_total"); len(counted) > 0 {
		t.Errorf("counted are %v", counted)
	}
}
