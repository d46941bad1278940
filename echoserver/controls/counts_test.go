package controls

import (
	"bytes"
	"encoding/json"
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

func TestApplied(t *testing.T) {
	zero, many := 0, MaxSize
	for name, c := range map[string]struct {
		controls   Controls
		json, text string
	}{
		"none":             {Controls{}, `{}`, ""},
		"status":           {Controls{Status: 503}, `{"status":503}`, "status=503"},
		"delay":            {Controls{Delay: 2 * time.Second}, `{"delay":"2s"}`, "delay=2s"},
		"a header":         {Controls{Headers: []Header{{"X-A", "secret"}}}, `{"setHeader":["X-A"]}`, "set-header=X-A"},
		"a header of HTML": {Controls{Headers: []Header{{"X-&", "secret"}}}, `{"setHeader":["X-&"]}`, "set-header=X-&"},
		"a size":           {Controls{Size: &many}, `{"size":16777216}`, "size=16777216"},
		"a size of zero":   {Controls{Size: &zero}, `{"size":0}`, "size=0"},
		"a format":         {Controls{Format: Text}, `{"format":"text"}`, "format=text"},
		"early hints":      {Controls{EarlyHints: true}, `{"earlyHints":true}`, "early-hints=true"},
		"a fixed body":     {Controls{Body: "x"}, `{}`, "body=fixed"},
		"all": {Controls{Status: 200, Delay: time.Millisecond, Headers: []Header{{"X-B", "1"}, {"X-A", "2"}, {"X-B", "3"}}, Size: &zero,
			Format: HTML, Body: "x"},
			`{"status":200,"delay":"1ms","setHeader":["X-B","X-A","X-B"],"size":0,"format":"html"}`,
			"status=200, delay=1ms, set-header=X-B, set-header=X-A, set-header=X-B, size=0, format=html, body=fixed"},
		"a fault of the settings": {Controls{Connection: ConnectionTruncate, fault: 1}, `{"connection":"truncate","fault":0}`,
			"connection=truncate, fault=0"},
		"a fault of a request": {Controls{Status: 503, percentage: 30, failures: 2}, `{"status":503,"percentage":30,"failures":2}`,
			"status=503, percentage=30, failures=2"},
		"a delay is rounded up":    {Controls{Delay: 1500 * time.Microsecond}, `{"delay":"2ms"}`, "delay=2ms"},
		"a delay is rounded down":  {Controls{Delay: 1499 * time.Microsecond}, `{"delay":"1ms"}`, "delay=1ms"},
		"a delay close to zero":    {Controls{Delay: 1}, `{"delay":"0s"}`, "delay=0s"},
		"the longest delay":        {Controls{Delay: MaxDelay}, `{"delay":"30s"}`, "delay=30s"},
		"a delay of several units": {Controls{Delay: 12*time.Second + 34*time.Millisecond}, `{"delay":"12.034s"}`, "delay=12.034s"},
		"a status and a format":    {Controls{Status: 599, Format: JSON}, `{"status":599,"format":"json"}`, "status=599, format=json"},
	} {
		got := c.controls.Applied()
		var encoded bytes.Buffer
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if got.String() != c.text || encoded.String() != c.json+"\n" {
			t.Errorf("%s: %q and %s, want %q and %s", name, got, &encoded, c.text, c.json)
		}
		if (got == nil) != (name == "none") {
			t.Errorf("%s: it is nil: %t", name, got == nil)
		}
	}
}
