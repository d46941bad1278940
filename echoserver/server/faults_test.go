package server

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// rolls returns a function that returns the given numbers in turn instead of random numbers.
func rolls(numbers ...int64) func(int64) int64 {
	next := 0
	return func(int64) int64 {
		next++
		return numbers[(next-1)%len(numbers)]
	}
}

// TestEcho_injectsFaults sends several requests, and checks which controls each response reports.
func TestEcho_injectsFaults(t *testing.T) {
	const a, b = `{"percentage":30,"statusCode":503}`, `{"percentage":50,"statusCode":504}`
	for name, c := range map[string]struct {
		faults  string
		rolls   []int64
		targets []string
		want    []string // the expected status codes and applied controls
	}{
		"a percentage": {a, []int64{29, 30, 0, 99}, []string{"/", "/", "/", "/"},
			[]string{"503 status=503, fault=0", "200 ", "503 status=503, fault=0", "200 "}},
		"the first that applies": {a + "," + b, []int64{30, 49, 0, 99, 50}, []string{"/", "/", "/"},
			[]string{"504 status=504, fault=1", "503 status=503, fault=0", "200 "}},
		"all requests": {`{"statusCode":503}`, []int64{99}, []string{"/", "/x"},
			[]string{"503 status=503, fault=0", "503 status=503, fault=0"}},
		"a status of the request": {`{"statusCode":503}`, nil, []string{"/?echo.status=200"}, []string{"200 status=200"}},
		"a format of the request": {`{"statusCode":503}`, nil, []string{"/?echo.format=text"},
			[]string{"503 status=503, format=text, fault=0"}},
		"two failures": {`{"statusCode":503,"failures":2}`, nil, []string{"/", "/", "/", "/?x", "/"},
			[]string{"503 status=503, fault=0", "503 status=503, fault=0", "200 ", "503 status=503, fault=0", "200 "}},
		"failures by chance": {`{"statusCode":503,"failures":1,"percentage":50}`, []int64{50, 49, 0}, []string{"/", "/", "/"},
			[]string{"200 ", "503 status=503, fault=0", "200 "}},
		"a percentage of requests": {"", []int64{30, 29},
			[]string{"/?echo.percentage=30&echo.status=502&echo.format=text", "/?echo.percentage=30&echo.status=502"},
			[]string{"200 ", "502 status=502, percentage=30"}},
		"failures on request": {"", nil, []string{"/?echo.failures=1", "/?echo.failures=1", "/?echo.failures=1&x"},
			[]string{"503 status=503, failures=1", "200 ", "503 status=503, failures=1"}},
		"other failures on request": {"", nil, []string{"/?echo.failures=1&echo.status=429", "/?echo.failures=1&echo.status=429"},
			[]string{"429 status=429, failures=1", "200 "}},
		"failures next to a format": {"", nil, []string{"/?echo.failures=1&echo.format=text"},
			[]string{"503 status=503, format=text, failures=1"}},
		"no fault of the settings":   {`{"statusCode":504}`, []int64{99}, []string{"/?echo.percentage=30&echo.status=503"}, []string{"200 "}},
		"a delay of zero is a delay": {`{"delayMilliseconds":0}`, nil, []string{"/"}, []string{"200 fault=0"}},
	} {
		var environ []string
		if c.faults != "" {
			environ = []string{"ECHO_RESPONSE_FAULTS=[" + c.faults + "]"}
		}
		h := handlerOf(t, environ...)
		h.chooser.Random = rolls(c.rolls...)
		var got []string
		for _, target := range c.targets {
			w := echotest.Record(h, target)
			got = append(got, strings.TrimPrefix(w.Result().Status[:4]+w.Header().Get("X-Echo-Applied"), "HTTP "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: responded %q, want %q", name, got, c.want)
		}
	}
}

// TestDelay_fromFaultsIsExact measures delays with synctest's fake clock.
func TestDelay_fromFaultsIsExact(t *testing.T) {
	for name, c := range map[string]struct {
		faults, target string
		want           time.Duration
	}{
		"a range":                  {`{"delayMilliseconds":100,"maxDelayMilliseconds":2000}`, "/", 100*time.Millisecond + 7},
		"up to a delay":            {`{"maxDelayMilliseconds":2000}`, "/", 7},
		"one delay":                {`{"delayMilliseconds":100}`, "/", 100 * time.Millisecond},
		"instead of the default":   {`{"delayMilliseconds":0}`, "/", 0},
		"the default":              {`{"statusCode":503}`, "/", 5 * time.Second},
		"a range of a request":     {`{"delayMilliseconds":100}`, "/?echo.delay=1s-3s", time.Second + 7},
		"a delay against a range":  {`{"maxDelayMilliseconds":100}`, "/?echo.delay=1s", time.Second},
		"a range without a choice": {`{"delayMilliseconds":100,"maxDelayMilliseconds":100}`, "/", 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t, "ECHO_RESPONSE_DELAY=5s", "ECHO_RESPONSE_FAULTS=["+c.faults+"]")
			h.chooser.Random = rolls(7)
			began := time.Now()
			echotest.Record(h, c.target)
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: responded after %s, want %s", name, took, c.want)
			}
		})
	}
}

// TestDelay_limitIncludesFaults checks that responses delayed by a fault count toward the limit for delayed responses.
func TestDelay_limitIncludesFaults(t *testing.T) {
	h := handlerOf(t, `ECHO_RESPONSE_FAULTS=[{"delayMilliseconds":30000}]`)
	h.delays.Waiting.Store(exchange.MaxWaiting)
	if w := echotest.Record(h, "/"); w.Code != http.StatusTooManyRequests {
		t.Errorf("answered %d", w.Code)
	}
}

// TestEcho_resetsConnection checks that a request or a setting can cause a connection reset in both protocols. Other clients' connections must
// stay open.
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

// TestEcho_resetsWrappedConnection checks that the real program resets a connection instead of closing it, even though its
// listener wraps connections.
func TestEcho_resetsWrappedConnection(t *testing.T) {
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
