package controls

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestTable checks that each row describes its control correctly.
func TestTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/reference/echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, row := range table() {
		if row.value(Controls{}) != nil {
			t.Errorf("%s is applied by default", row.name)
		}
		if row.set == nil {
			if row.varies {
				t.Errorf("Vary names %s, which a request cannot set", row.name)
			}
			continue
		}
		last = row.name
		if err := (&Controls{}).set(row.name, []string{""}, Safe, row.targets); err == nil || strings.Contains(err.Error(), "unknown control") {
			t.Errorf("%s with an empty value: %v", row.name, err)
		}
		if !strings.Contains(string(document), "`echo."+row.name) && !strings.Contains(string(document), "| `"+row.name+"`") &&
			!strings.Contains(string(document), "`x-echo-"+row.name) {
			t.Errorf("docs/reference/echo-server.md does not describe %s", row.name)
		}
		vary := strings.Split(Safe.Vary(), ",")
		if header := http.CanonicalHeaderKey(headerPrefix + row.name); slices.Contains(vary, header) != row.varies {
			t.Errorf("Vary is %q, with %s: %t", vary, header, row.varies)
		}
	}
	if length := len(Safe.Vary()) + len(",Accept-Encoding"); length > 128 {
		t.Errorf("nginx would not cache the response: Vary has %d bytes", length)
	}
	if got := requestable(); !strings.HasPrefix(got, "status, delay, set-header, ") || !strings.HasSuffix(got, " and "+last) {
		t.Errorf("a request can set %s; the last row is %s", got, last)
	}
}

func TestParseFaults_rejected(t *testing.T) {
	for text, why := range map[string]string{
		"x":                                    "not a list such as ",
		`[{}]`:                                 "faults[0]: requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection",
		`[null]`:                               "faults[0]: requires",
		`[{"statusCode":503},{"status":503}]`:  `faults[1]: json: unknown field "status"`,
		`[{"statusCode":"503"}]`:               "statusCode of type int",
		`[{"statusCode":199}]`:                 "faults[0].statusCode: 199 is not from 200 to 599",
		`[{"statusCode":503,"percentage":0}]`:  "faults[0].percentage: 0 is not from 1 to 100",
		`[{"statusCode":503,"failures":1001}]`: "faults[0].failures: 1001 is not from 1 to 1000",
		`[{"delayMilliseconds":30001}]`:        "faults[0].delayMilliseconds: 30001 is not from 0 to 30000",
		`[{"delayMilliseconds":2,"maxDelayMilliseconds":1}]`:                   "faults[0].maxDelayMilliseconds: less than delayMilliseconds",
		`[{"connection":"reset"}]`:                                             `faults[0].connection: "reset" is neither Reset nor Truncate`,
		`[{"connection":"Reset","statusCode":503}]`:                            "faults[0].statusCode: connection Reset sends no response",
		"[" + strings.Repeat(`{"statusCode":503},`, 8) + `{"statusCode":503}]`: "there are 9 faults, but at most 8 are allowed",
	} {
		if _, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
	got, err := ParseFaults(
		`[{"connection":"Truncate","statusCode":599,"percentage":100,"failures":1000,"delayMilliseconds":30000},{"connection":"Reset"}]`)
	want := []Fault{{Percentage: new(100), Failures: new(1000), StatusCode: new(599), DelayMilliseconds: new(30000),
		Connection: new("Truncate")}, {Connection: new("Reset")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("parsed: %v (-want +got):\n%s", err, diff)
	}
	for i, connection := range []ConnectionFault{ConnectionTruncate, ConnectionReset} {
		var c Controls
		if c.apply(&got[i], i+1); c.Connection != connection {
			t.Errorf("fault %d: the connection is %q, want %q", i, c.Connection, connection)
		}
	}
}

// TestQueryControls parses queries that are malformed or very long. FuzzControlsIn parses others.
func TestQueryControls(t *testing.T) {
	for query, want := range map[string]url.Values{
		"%": nil, "%6": nil, "%zz=1": nil, "echo%": nil,
		"x=%zz&y=1;2&echo.a=1":                 {"a": {"1"}},
		strings.Repeat("a&", 20000) + "echo.a": {"a": {""}},
	} {
		got, err := queryControls(query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%.40q: %v (-want +got):\n%s", query, err, diff)
		}
	}
	for _, query := range []string{"echo.a=1;2", "echo.a=%zz", "echo.a%=1", "a&%65cho.a=%"} {
		if got, err := queryControls(query); err == nil {
			t.Errorf("%q is parsed as %v", query, got)
		}
	}
}

// FuzzControlsIn compares the controls that queryControls and net/url find.
func FuzzControlsIn(f *testing.F) {
	for _, seed := range []string{"", "e", "echo", "echo.a", "echo.=1", "xecho.a=1", "ECHO.a=1", "a&&&", "&&echo.a=1&&echo.b=2&echo.a=3",
		"%65%63%68%6F%2E%61=%31", "ec%68o.a=b+c=d", "a&&echo.a=%20&echo.a=+"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		parsed, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var want url.Values
		for name, values := range parsed {
			if short, ok := strings.CutPrefix(name, queryPrefix); ok {
				if want == nil {
					want = url.Values{}
				}
				want[short] = values
			}
		}
		got, err := queryControls(query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", query, err, diff)
		}
	})
}

func TestAcceptedFormat(t *testing.T) {
	for accept, want := range map[string]format{
		"":                   JSON,
		"*/*":                JSON,
		"text/html;q=0, */*": JSON,
		"text/html;q=0.9, application/json;q=0.8":                         HTML,
		"text/html ; q=0.9 , text/plain ; q=0.95":                         Text,
		"application/json, text/plain, */*":                               JSON,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": HTML, // Firefox
		// Chromium
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7": HTML,
		"text/html;q=nonsense, text/plain;q=0.1":   Text,
		"text/html;q=NaN":                          JSON,
		"text/html;level=1;q=0.4, text/plain;q=.3": HTML,
	} {
		if got := AcceptedFormat([]string{accept}); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := AcceptedFormat([]string{"text/plain;q=0.5", "text/html"}); got != HTML {
		t.Errorf("two headers: %s", got)
	}
}

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
		"another trusted proxy":   {func(r *http.Request) { r.RemoteAddr = "192.0.2.2:1234" }, same},
		"a long ID":               {func(r *http.Request) { r.Header.Set("X-Request-Id", echotest.Payload(128+1)) }, same},
		"another method":          {func(r *http.Request) { r.Method = http.MethodPost }, 0},
		"another host":            {func(r *http.Request) { r.Host = "other" }, 0},
		"another client":          {func(r *http.Request) { r.Header.Set("X-Forwarded-For", "10.0.0.2") }, 0},
		"an ID":                   {func(r *http.Request) { r.Header.Set("X-Request-Id", "a") }, id},
		"an ID on another path":   {func(r *http.Request) { r.Header.Set("X-Request-Id", "a"); r.RequestURI = "/" }, id},
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
		expect(2, 1)         // key 2 was forgotten; counting it again displaces key 10
		expect(10, 1)
	})
}

func TestApplied(t *testing.T) {
	zero := 0
	for name, c := range map[string]struct {
		controls   Controls
		json, text string
	}{
		"none":  {Controls{}, `{}`, ""},
		"delay": {Controls{Delay: 2 * time.Second}, `{"delay":"2s"}`, "delay=2s"},
		"all": {Controls{Status: 200, Delay: time.Millisecond, Headers: []Header{{"X-B", "1"}, {"X-A", "2"}, {"X-B", "3"}}, Size: &zero,
			Format: HTML, Body: "x"},
			`{"status":200,"delay":"1ms","setHeader":["X-B","X-A","X-B"],"size":0,"format":"html"}`,
			"status=200, delay=1ms, set-header=X-B, set-header=X-A, set-header=X-B, size=0, format=html, body=fixed"},
		"a fault of the settings": {Controls{Connection: ConnectionTruncate, fault: 1}, `{"connection":"truncate","fault":0}`,
			"connection=truncate, fault=0"},
		"a fault of a request": {Controls{Status: 503, percentage: 30, failures: 2}, `{"status":503,"percentage":30,"failures":2}`,
			"status=503, percentage=30, failures=2"},
		"a delay is rounded up":    {Controls{Delay: 1500 * time.Microsecond}, `{"delay":"2ms"}`, "delay=2ms"},
		"a delay close to zero":    {Controls{Delay: 1}, `{"delay":"0s"}`, "delay=0s"},
		"a delay of several units": {Controls{Delay: 12*time.Second + 34*time.Millisecond}, `{"delay":"12.034s"}`, "delay=12.034s"},
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
