package exchange

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestID(t *testing.T) {
	generated, seen := regexp.MustCompile("^[89a-f][0-9a-f]{15}$"), map[string]bool{}
	for name, c := range map[string]struct {
		headers http.Header
		taken   string // empty if the server generates the ID
	}{
		"none":                 {nil, ""},
		"empty":                {http.Header{"X-Request-Id": {""}}, ""},
		"one byte":             {http.Header{"X-Request-Id": {"7"}}, "7"},
		"the longest":          {http.Header{"X-Request-Id": {strings.Repeat("x", maxRequestID)}}, strings.Repeat("x", 128)},
		"too long":             {http.Header{"X-Request-Id": {strings.Repeat("x", maxRequestID+1)}}, ""},
		"the first of several": {http.Header{"X-Request-Id": {"a", "b"}}, "a"},
		"of another header":    {http.Header{"X-Correlation-Id": {"a"}}, ""},
	} {
		got := requestID(c.headers)
		if c.taken != "" && got != c.taken || c.taken == "" && !generated.MatchString(got) {
			t.Errorf("%s: the ID is %q, want %q", name, got, c.taken)
		}
		if seen[got] {
			t.Errorf("%s: the ID %q is there twice", name, got)
		}
		seen[got] = true
	}
}

func TestStatusOrOK(t *testing.T) {
	for name, c := range map[string]struct {
		handle  func(*Exchange)
		status  int
		written int64
	}{
		"nothing":  {func(*Exchange) {}, 200, 0},
		"a status": {func(e *Exchange) { e.WriteHeader(http.StatusServiceUnavailable) }, 503, 0},
		"only the first status": {func(e *Exchange) { e.WriteHeader(http.StatusNotFound); e.WriteHeader(http.StatusInternalServerError) }, 404,
			0},
		"a body without a status": {func(e *Exchange) { _, _ = e.Write([]byte("hello")) }, 200, 5},
		"a body after its status": {func(e *Exchange) { e.WriteHeader(http.StatusTeapot); _, _ = e.Write([]byte("hello")) }, 418, 5},
		"a status after the body": {func(e *Exchange) { _, _ = e.Write([]byte("a")); e.WriteHeader(http.StatusInternalServerError) }, 200, 1},
		"a body in pieces": {func(e *Exchange) { _, _ = e.Write([]byte("hello")); _, _ = e.Write(nil); _, _ = e.Write([]byte("you")) },
			200, 8},
		"an empty write":           {func(e *Exchange) { _, _ = e.Write(nil); e.WriteHeader(http.StatusInternalServerError) }, 200, 0},
		"a reason for a refusal":   {func(e *Exchange) { Reject(e, 400, "why") }, 400, 17},
		"a status kept for a log":  {func(e *Exchange) { e.Status = 499 }, 499, 0},
		"headers are not a status": {func(e *Exchange) { e.Header().Set("X-A", "1") }, 200, 0},
	} {
		e := New(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		c.handle(e)
		if e.StatusOrOK() != c.status || e.written != c.written {
			t.Errorf("%s: the status is %d with %d bytes, want %d with %d", name, e.StatusOrOK(), e.written, c.status, c.written)
		}
	}
}

// TestExchange_countsWrittenBytes checks the byte count after a write that fails midway.
func TestExchange_countsWrittenBytes(t *testing.T) {
	w := &shortWriter{ResponseRecorder: httptest.NewRecorder(), room: 3}
	e := New(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if n, err := e.Write([]byte("hello")); n != 3 || err == nil || e.written != 3 {
		t.Errorf("%d bytes were written, %d counted, %v", n, e.written, err)
	}
}

// shortWriter is a response writer with room for a few bytes.
type shortWriter struct {
	*httptest.ResponseRecorder
	room int
}

func (w *shortWriter) Write(data []byte) (int, error) {
	n, _ := w.ResponseRecorder.Write(data[:min(len(data), w.room)])
	return n, http.ErrHandlerTimeout
}

func TestNew_recordsStartAndID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		e := New(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		<-time.After(time.Second)
		if !e.Began.Equal(before) || e.ID == "" {
			t.Errorf("the exchange %q began at %s, want %s", e.ID, e.Began, before)
		}
	})
}
