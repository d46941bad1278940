package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
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

// TestRespond_reportsEarlyHintsIfSent checks that a response over HTTP/1.0, which has no status 103, does not report early hints.
func TestRespond_reportsEarlyHintsIfSent(t *testing.T) {
	url := serve(t, handlerOf(t, "ECHO_CONTROLS=Full")).URL
	for version, want := range map[string]bool{"1.0": false, "1.1": true} {
		got := echotest.Exchanged(t, echotest.Dial(t, url), "GET /?echo.early-hints=true HTTP/"+version+"\r\nHost: a\r\nConnection: close\r\n\r\n")
		if strings.Contains(got, " 103 ") != want || strings.Contains(got, "early-hints=true\r\n") != want ||
			strings.Contains(got, "earlyHints") != want {
			t.Errorf("HTTP/%s: the response is %s", version, got)
		}
	}
}

// TestEcho_varyListsControlHeaders checks that caches do not serve the response for requests with other controls.
func TestEcho_varyListsControlHeaders(t *testing.T) {
	h := handlerOf(t, `ECHO_RESPONSE_HEADERS=[{"name":"vary","value":"Cookie"}]`)
	for _, target := range []string{"/", "/?echo.status=503", "/?echo.status=1"} {
		if listed := strings.Join(echotest.Record(h, target).Header().Values("Vary"), ","); !strings.HasPrefix(listed, controls.Safe.Vary()) {
			t.Errorf("%s: Vary is %q", target, listed)
		}
	}
	if got := echotest.Record(handlerOf(t, "ECHO_CONTROLS=None"), "/").Header().Values("Vary"); len(got) != 1 || got[0] != "Accept" {
		t.Errorf("without controls Vary is %q", got)
	}
}

// TestEcho_resetsConnection checks that a request or a setting can reset a connection or a stream, but no other client's connection.
func TestEcho_resetsConnection(t *testing.T) {
	h := handlerOf(t, "ECHO_CONTROLS=Full", `ECHO_RESPONSE_FAULTS=[{"connection":"Reset","failures":1}]`)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for _, path := range []string{"/" + proto, "/?echo.connection=reset"} {
			response, err := client.Post(server.URL+path, "text/plain", strings.NewReader("hello"))
			if err == nil {
				_ = response.Body.Close()
				t.Errorf("%s %s gets %d", proto, path, response.StatusCode)
				continue
			}
			if proto == "HTTP/1.1" && !errors.Is(err, syscall.ECONNRESET) || proto == "HTTP/2.0" && !strings.Contains(err.Error(), "stream error") {
				t.Errorf("%s %s ends with %v", proto, path, err)
			}
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL+"/"+proto, "hello"); got.StatusCode != http.StatusOK ||
			got.Header.Get("X-Echo-Applied") != "" {
			t.Errorf("%s: after a failure it gets %d %s", proto, got.StatusCode, got.Header)
		}
	}
	echotest.Until(t, "all are counted", func() bool { return h.metrics.inFlight.Load() == 0 })
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		if got := counted(h.metrics.requests, "http", proto, "POST", "444"); got != 2 {
			t.Errorf("%s: %d are counted with status 444", proto, got)
		}
	}
	if got := series(t, h.metrics, "echo_controls_total"); got["control=connection"] != 4 || got["control=fault"] != 2 {
		t.Errorf("counted are %v", got)
	}
}

// TestTruncate compares the size of the received part with the announced length.
func TestTruncate(t *testing.T) {
	server := serve(t, handlerOf(t, "ECHO_CONTROLS=Full"))
	for proto, client := range echotest.Clients(t) {
		for query, want := range map[string]int64{"echo.size=100000": 50000, "echo.size=3": 1, "echo.size=1": 0,
			"echo.size=101&echo.status=503": 50} {
			response := echotest.Open(t, client, http.MethodGet, server.URL+"/?echo.connection=truncate&"+query, http.NoBody)
			n, err := io.Copy(io.Discard, response.Body)
			if err == nil || n != want || response.ContentLength/2 != want ||
				!strings.Contains(response.Header.Get("X-Echo-Applied"), "connection=truncate") {
				t.Errorf("%s %s: %d of %d bytes, %v, %s", proto, query, n, response.ContentLength, err, response.Header)
			}
		}
		ranged := echotest.Open(t, client, http.MethodGet, server.URL+"/?echo.connection=truncate&echo.size=100", http.NoBody, "Range", "bytes=90-")
		if n, err := io.Copy(io.Discard, ranged.Body); err == nil || n != 50 || ranged.StatusCode != http.StatusOK || ranged.Header["Content-Range"] != nil {
			t.Errorf("%s, a range: %d with %d bytes, %v, %s", proto, ranged.StatusCode, n, err, ranged.Header)
		}
		response := echotest.Open(t, client, http.MethodGet, server.URL+"/?echo.connection=truncate", http.NoBody)
		data, err := io.ReadAll(response.Body)
		if err == nil || int64(len(data)) != response.ContentLength/2 || !strings.HasPrefix(string(data), "{\n \"path\"") {
			t.Errorf("%s: %q of %d bytes, %v", proto, data, response.ContentLength, err)
		}
	}
}

// TestTruncate_closesConnectionEvenWithoutBody checks that the connection is closed, but the truncation is not reported.
func TestTruncate_closesConnectionEvenWithoutBody(t *testing.T) {
	url := serve(t, handlerOf(t, "ECHO_CONTROLS=Full")).URL
	for request, status := range map[string]string{"GET /?echo.connection=truncate&echo.status=204": "204",
		"HEAD /?echo.connection=truncate": "200", "GET /?echo.connection=truncate&echo.size=0": "200"} {
		got := echotest.Exchanged(t, echotest.Dial(t, url), request+" HTTP/1.1\r\nHost: a\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+status) || !strings.HasSuffix(got, "\r\n\r\n") || strings.Contains(got, "connection=truncate") {
			t.Errorf("%s gets %q", request, got)
		}
	}
	response := echotest.Open(t, echotest.Clients(t)["HTTP/2.0"], http.MethodGet, url+"/?echo.connection=truncate&echo.size=0", nil)
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Errorf("the complete response over HTTP/2 ends with %v", err)
	}
}
