package server

import (
	"math"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBudgetFollowsFromTheMemory(t *testing.T) {
	b := newBudget(64 << 20)
	if b.connections.limit != 16<<20 || b.requests.limit != 16<<20 {
		t.Errorf("of 64 MiB, connections may hold %d and requests %d bytes", b.connections.limit, b.requests.limit)
	}
	before := debug.SetMemoryLimit(100 << 20)
	limited := availableMemory()
	debug.SetMemoryLimit(math.MaxInt64)
	unlimited := availableMemory()
	debug.SetMemoryLimit(before)
	if limited != 100<<20 || unlimited != unlimitedMemory {
		t.Errorf("the memory is %d with a limit of 100 MiB, %d without one", limited, unlimited)
	}
}

func TestPool(t *testing.T) {
	p := &pool{limit: 100}
	for i, c := range []struct {
		take  func(int64) bool
		bytes int64
		ok    bool
		used  int64
	}{
		{p.takeLarge, 76, false, 0}, {p.takeLarge, 75, true, 75}, {p.takeLarge, 1, false, 75}, {p.take, 26, false, 75}, {p.take, 25, true, 100}, {p.take, 1, false, 100},
	} {
		if ok := c.take(c.bytes); ok != c.ok || p.used.Load() != c.used {
			t.Errorf("step %d: %t, and %d bytes are used; want %t and %d", i, ok, p.used.Load(), c.ok, c.used)
		}
	}
	p.give(100)
	if !p.takeLarge(75) {
		t.Error("what was given back cannot be taken")
	}
}

// TestRequestsGiveBackWhatTheyHold sends what takes bytes from the budget, over both protocols, and checks that nothing stays taken.
func TestRequestsGiveBackWhatTheyHold(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for _, client := range clients(t) {
		for _, size := range []int{0, 10_000, maxShown, 200_000, maxBody + 1} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?echo.delay=1ms", strings.NewReader(payload(size)))
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
	until(t, "everything is given back", func() bool {
		return h.budget.requests.used.Load() == 0 && h.budget.connections.used.Load() == 0
	})
}

// TestExhaustedBudget checks what is refused when nearly nothing is available, how, and that ordinary requests are not.
func TestExhaustedBudget(t *testing.T) {
	h := handlerOf(t)
	h.budget.requests.take(h.budget.requests.limit - 1000)
	server := serve(t, h)
	for proto, client := range clients(t) {
		for path, body := range map[string]string{"/": payload(20_000), "/?echo.delay=1ms": "", "/-/sse": ""} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			got := send(t, client, method, server.URL+path, body)
			if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" || !strings.Contains(got.body, overBudget) {
				t.Errorf("%s %s: the response is %d %v %q", proto, path, got.StatusCode, got.Header, got.body)
			}
		}
		if got := send(t, client, http.MethodPost, server.URL, payload(1000)); got.StatusCode != http.StatusOK {
			t.Errorf("%s: an ordinary request has the response %d", proto, got.StatusCode)
		}
	}
	if got := send(t, clients(t)["HTTP/1.1"], http.MethodGet, server.URL, "", "X-Long", strings.Repeat("x", 20_000)); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a long header has the response %d", got.StatusCode)
	}
	if counted(h.metrics.limits, limitMemory) < 6 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_limited_total"))
	}
}
