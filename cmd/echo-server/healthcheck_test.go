package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestHealthcheck(t *testing.T) {
	var draining atomic.Bool
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || draining.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer admin.Close()
	address := strings.TrimPrefix(admin.URL, "http://")
	environ := []string{"ECHO_ADMIN_ADDR=" + address}
	_, port, _ := strings.Cut(address, ":")
	check := func(server, want string, environ []string, arguments ...string) {
		t.Helper()
		err := healthcheck(t.Context(), arguments, environ, io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", server, err, want)
		}
	}
	check("a ready server", "", environ)
	check("a ready server on any address", "", []string{"ECHO_ADMIN_ADDR=127.0.0.1:1"}, "--admin-addr=:"+port)
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer mute.Close()
	check("a server that does not respond", "no response from the admin port: ", nil, "--admin-addr="+strings.TrimPrefix(mute.URL, "http://"))
	draining.Store(true)
	check("a draining server", `not ready: /readyz on the admin port responds with "503 Service Unavailable"`, environ)
	admin.Close()
	check("no server", "cannot reach the admin port: dial tcp 127.0.0.1:", environ)
	check("an invalid address", "--admin-addr: ", nil, "--admin-addr=9090")
}

func TestReadyz(t *testing.T) {
	for response, want := range map[string]string{
		"HTTP/1.1 200 OK\r\n":              "200 OK",
		"HTTP/1.0 200\r\n":                 "200",
		"HTTP/1.1 404 Not Found\r\n":       "404 Not Found",
		"SSH-2.0-other\r\n":                "",
		"HTTP/1.1 200 OK":                  "",
		strings.Repeat("x", 8192) + "\r\n": "",
		"":                                 "",
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(far))
			_, _ = io.WriteString(far, response) // the client may already have closed the connection
			_ = far.Close()
		}()
		if got, err := readyz(t.Context(), near); got != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: got %q, %v", response, got, err)
		}
		_ = near.Close()
	}
}

func TestReadyz_stopsAtDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if status, err := readyz(ctx, near); err == nil || time.Since(began) != 2*time.Second {
			t.Errorf("after %s: %q, %v", time.Since(began), status, err)
		}
		_ = near.Close()
	})
}
