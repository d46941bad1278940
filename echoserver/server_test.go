package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

func TestEcho(t *testing.T) {
	h := newHandler(identity{Namespace: "ns", Pod: "p-1", Service: "s", Node: "n"}, response{}, quiet)
	r := httptest.NewRequest(http.MethodPut, "http://example.com/a//b/../c?x=1&x=%20", strings.NewReader("hello"))
	r.Header.Add("X-Many", "1")
	r.Header.Add("X-Many", "2")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("answered %d with %v", w.Code, w.Header())
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"path": r.RequestURI, "host": "example.com", "method": "PUT", "proto": "HTTP/1.1",
		"namespace": "ns", "pod": "p-1", "service": "s"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if many := got["headers"].(map[string]any)["X-Many"].([]any); len(many) != 2 {
		t.Errorf("X-Many is %v", many)
	}
	if request := got["request"].(map[string]any); request["query"] != "x=1&x=%20" || request["bodySize"] != 5.0 {
		t.Errorf("request is %v", request)
	}
}

func TestResponse(t *testing.T) {
	env := map[string]string{"ECHO_RESPONSE_STATUS": "503", "ECHO_RESPONSE_DELAY": "20ms", "ECHO_RESPONSE_BODY": "gone fishing",
		"ECHO_RESPONSE_HEADERS": `[{"name": "Retry-After", "value": "7"}]`}
	wanted, err := parseResponse(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	w, began := httptest.NewRecorder(), time.Now()
	newHandler(identity{}, wanted, quiet).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 503 || w.Body.String() != "gone fishing" || w.Header().Get("Retry-After") != "7" || time.Since(began) < 20*time.Millisecond {
		t.Errorf("answered %d %q with %v after %s", w.Code, w.Body, w.Header(), time.Since(began))
	}
	w = httptest.NewRecorder()
	newHandler(identity{}, wanted, quiet).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/-/readyz", nil))
	if w.Code != http.StatusOK {
		t.Errorf("the probe is answered %d", w.Code)
	}
	for name, value := range map[string]string{"ECHO_RESPONSE_STATUS": "199", "ECHO_RESPONSE_DELAY": "31s", "ECHO_RESPONSE_HEADERS": "x"} {
		_, err := parseResponse(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	for size, want := range map[int]int{0: 200, maxBody: 200, maxBody + 1: 413} {
		w := httptest.NewRecorder()
		newHandler(identity{}, response{}, quiet).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, size))))
		if w.Code != want {
			t.Errorf("a body of %d bytes is answered %d, want %d", size, w.Code, want)
		}
	}
}

func TestReservedPrefix(t *testing.T) {
	for path, want := range map[string]int{"/-/livez": 200, "/-/readyz": 200, "/-/other": 404, "/livez": 200, "/-": 200} {
		w := httptest.NewRecorder()
		newHandler(identity{}, response{}, quiet).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s is answered %d, want %d", path, w.Code, want)
		}
	}
}

func TestSettings(t *testing.T) {
	none := func(string) string { return "" }
	s, err := parseSettings(nil, func(name string) string {
		return map[string]string{"ECHO_HTTP_ADDR": ":1", "ECHO_DRAIN_DELAY": "2s", "POD_NAME": "p"}[name]
	}, io.Discard)
	if err != nil || s.address != ":1" || s.drainDelay != 2*time.Second || s.identity.Pod != "p" {
		t.Errorf("from the environment: %+v, %v", s, err)
	}
	if s, err = parseSettings([]string{"--http-addr=:2"}, none, io.Discard); err != nil || s.address != ":2" || s.drainDelay != 5*time.Second {
		t.Errorf("from a flag: %+v, %v", s, err)
	}
	for _, bad := range [][]string{{"--nonsense"}, {"argument"}, {"--drain-delay=soon"}, {"--drain-delay=-1s"}} {
		if _, err := parseSettings(bad, none, io.Discard); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestDrain holds a request open over the end of a server: it must be answered, new ones too during the delay, and
// readiness must fail meanwhile.
func TestDrain(t *testing.T) {
	address := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, settings{address: address, drainDelay: 300 * time.Millisecond}, quiet) }()
	until(t, "the server is ready", func() bool { return status("http://"+address+"/-/readyz") == http.StatusOK })

	body, more := io.Pipe()
	slow := make(chan int, 1)
	go func() {
		response, err := http.Post("http://"+address+"/slow", "text/plain", body)
		if err != nil {
			slow <- 0
			return
		}
		_ = response.Body.Close()
		slow <- response.StatusCode
	}()
	if _, err := more.Write([]byte("begun")); err != nil {
		t.Fatal(err)
	}
	stop()
	until(t, "readiness fails", func() bool { return status("http://"+address+"/-/readyz") == http.StatusServiceUnavailable })
	if got := status("http://" + address + "/-/livez"); got != http.StatusOK {
		t.Errorf("livez is %d while draining", got)
	}
	response, err := http.Get("http://" + address + "/late")
	if err != nil {
		t.Fatalf("a request during the delay: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("a request during the delay is answered %d, close %t", response.StatusCode, response.Close)
	}
	until(t, "the server stops listening", func() bool { return status("http://"+address+"/") == 0 })
	if err := more.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-slow; got != http.StatusOK {
		t.Errorf("the request in flight is answered %d", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ends with %v", err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// status is the status code of a GET on a connection of its own, 0 for none.
func status(url string) int {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
