package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandler_releasesReservedBytes checks that requests over both protocols release all bytes that they reserve.
func TestHandler_releasesReservedBytes(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for _, client := range echotest.Clients(t) {
		for _, size := range []int{0, 10_000, exchange.MaxShown, 200_000, exchange.MaxBody + 1} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?echo.delay=1ms",
				strings.NewReader(echotest.Payload(size)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Long", strings.Repeat("x", 20_000))
			if response, err := client.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}
		client.CloseIdleConnections()
	}
	echotest.Until(t, "all bytes are released", func() bool {
		return h.budget.Requests.Used.Load() == 0 && h.budget.Connections.Used.Load() == 0
	})
}

// TestExhausted checks the responses to requests when the budget is nearly used up. Ordinary requests must not be rejected.
func TestExhausted(t *testing.T) {
	h := handlerOf(t)
	h.budget.Requests.Acquire(h.budget.Requests.Limit - 1000)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for path, body := range map[string]string{"/": echotest.Payload(20_000), "/?echo.delay=1ms": "", "/-/sse": ""} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			got := echotest.Send(t, client, method, server.URL+path, body)
			if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" ||
				!strings.Contains(got.Text, connection.OverBudget) {
				t.Errorf("%s %s: the response is %d %v %q", proto, path, got.StatusCode, got.Header, got.Text)
			}
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL, echotest.Payload(1000)); got.StatusCode != http.StatusOK {
			t.Errorf("%s: an ordinary request has the response %d", proto, got.StatusCode)
		}
	}
	if got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, server.URL, "", "X-Long",
		strings.Repeat("x", 20_000)); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a long header has the response %d", got.StatusCode)
	}
	if counted(h.metrics.rejected, connection.LimitMemory) < 6 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_rejected_total"))
	}
}
