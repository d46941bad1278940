package controls

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestCounts_key compares the keys of several requests with the keys of an unchanged request and of a request with an ID.
func TestCounts_key(t *testing.T) {
	counts := NewCounts()
	key := func(change func(r *http.Request)) uint64 {
		r := httptest.NewRequest(http.MethodGet, "/shop?a=b", http.NoBody)
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		change(r)
		return counts.key(r, 1, func(r *http.Request) string { return r.Header.Get("X-Forwarded-For") })
	}
	same := key(func(*http.Request) {})
	id := key(func(r *http.Request) { r.Header.Set("X-Request-Id", "a") })
	for name, c := range map[string]struct {
		change func(r *http.Request)
		want   uint64 // 0 means that the key equals neither same nor id
	}{
		"the same":                {func(*http.Request) {}, same},
		"another port":            {func(r *http.Request) { r.RemoteAddr = "192.0.2.1:1" }, same},
		"another trusted proxy":   {func(r *http.Request) { r.RemoteAddr = "192.0.2.2:1234" }, same},
		"another header":          {func(r *http.Request) { r.Header.Set("X-A", "1") }, same},
		"a long ID":               {func(r *http.Request) { r.Header.Set("X-Request-Id", echotest.Payload(128+1)) }, same},
		"another method":          {func(r *http.Request) { r.Method = http.MethodPost }, 0},
		"another query":           {func(r *http.Request) { r.RequestURI = "/shop?a=c" }, 0},
		"another host":            {func(r *http.Request) { r.Host = "other" }, 0},
		"another client":          {func(r *http.Request) { r.Header.Set("X-Forwarded-For", "10.0.0.2") }, 0},
		"an ID":                   {func(r *http.Request) { r.Header.Set("X-Request-Id", "a") }, id},
		"an ID on another path":   {func(r *http.Request) { r.Header.Set("X-Request-Id", "a"); r.RequestURI = "/" }, id},
		"another ID":              {func(r *http.Request) { r.Header.Set("X-Request-Id", "b") }, 0},
		"parts of another length": {func(r *http.Request) { r.Host, r.RequestURI = "example.com/", "shop?a=b" }, 0},
	} {
		if got := key(c.change); c.want != 0 && got != c.want || c.want == 0 && (got == same || got == id) {
			t.Errorf("%s: the key is %x, want %x", name, got, c.want)
		}
	}
	client := func(*http.Request) string { return "" }
	if r := httptest.NewRequest(http.MethodGet, "/", http.NoBody); counts.key(r, 1, client) == counts.key(r, 2, client) {
		t.Error("two faults have the same key")
	}
}

func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := NewCounts()
		expect := func(key uint64, want int) {
			t.Helper()
			if got := counts.Next(key); got != want {
				t.Errorf("%d is counted as number %d, want %d", key, got, want)
			}
		}
		expect(1, 1)
		expect(2, 1)
		expect(1, 2)
		<-time.After(countMemory - 1)
		expect(1, 3)
		<-time.After(1)
		expect(1, 1)

		for key := range uint64(maxKeys - 1) {
			expect(1, int(key)+2)
			expect(key+10, 1)
		}
		expect(1, maxKeys+1) // key 1 was used throughout, so it was never forgotten
		if len(counts.counts) != maxKeys || counts.recent.Len() != maxKeys {
			t.Errorf("%d and %d are remembered", len(counts.counts), counts.recent.Len())
		}
		expect(2, 1) // key 2 was forgotten; counting it again displaces key 10
		expect(10, 1)
	})
}
