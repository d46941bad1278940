package server

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestResetConnection checks that a request or a setting can cause a connection reset in both protocols. Other clients' connections must
// stay open.
func TestResetConnection(t *testing.T) {
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

// TestResetConnection_resetsWrappedConnection checks that the real program resets a connection instead of closing it, even though its
// listener wraps connections.
func TestResetConnection_resetsWrappedConnection(t *testing.T) {
	p := start(t, "ECHO_CONTROLS=Full")
	connection := echotest.Dial(t, p.url)
	if _, err := io.WriteString(connection, "GET /?echo.connection=reset HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(connection); !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 {
		t.Errorf("it ends with %q, %v", got, err)
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
		response := echotest.Open(t, client, http.MethodGet, server.URL+"/?echo.connection=truncate", http.NoBody)
		data, err := io.ReadAll(response.Body)
		if err == nil || int64(len(data)) != response.ContentLength/2 || !strings.HasPrefix(string(data), "{\n \"path\"") {
			t.Errorf("%s: %q of %d bytes, %v", proto, data, response.ContentLength, err)
		}
	}
}

// TestTruncate_closesConnectionEvenWithoutBody checks that the connection is closed even though no part of the response is missing.
func TestTruncate_closesConnectionEvenWithoutBody(t *testing.T) {
	url := serve(t, handlerOf(t, "ECHO_CONTROLS=Full")).URL
	for request, status := range map[string]string{"GET /?echo.connection=truncate&echo.status=204": "204",
		"HEAD /?echo.connection=truncate": "200", "GET /?echo.connection=truncate&echo.size=0": "200"} {
		got := echotest.Exchanged(t, echotest.Dial(t, url), request+" HTTP/1.1\r\nHost: a\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+status) || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("%s gets %q", request, got)
		}
	}
}
