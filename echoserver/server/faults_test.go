package server

import (
	"net/http"
	"slices"
	"strings"
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
