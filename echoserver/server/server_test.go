package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestNewServer_enforcesTimeouts stops sending at different points, and measures when the server closes the connection.
func TestNewServer_enforcesTimeouts(t *testing.T) {
	const request = "GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, c := range map[string]struct {
		sent   string
		after  time.Duration
		status string
	}{
		"nothing":                   {"", 10 * time.Second, ""},
		"incomplete headers":        {"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ", 10 * time.Second, ""},
		"idle after a response":     {request, 620 * time.Second, "HTTP/1.1 200 OK"},
		"incomplete second headers": {request + "GET / HTTP/1.1\r\n", 10 * time.Second, "HTTP/1.1 200 OK"},
		"an incomplete body": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell", requestTimeout,
			"HTTP/1.1 408 Request Timeout"},
		"an incomplete chunked body": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", requestTimeout,
			"HTTP/1.1 408 Request Timeout"},
		"a body that a probe does not read": {"POST /-/livez HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nhell", requestTimeout,
			"HTTP/1.1 200 OK"},
		"a body of CONNECT": {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\nhell", requestTimeout,
			"HTTP/1.1 405 Method Not Allowed"},
		"an incomplete stream": {"POST /-/body HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n" + echotest.Payload(8999), 30 * time.Second,
			"HTTP/1.1 200 OK"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, listener := serveInMemory(t, handlerOf(t))
			connection := listener.Dial(t)
			began := time.Now()
			got := echotest.Exchanged(t, connection, c.sent)
			if took := time.Since(began); took < c.after || took >= c.after+time.Second {
				t.Errorf("%s: the connection is closed after %s, want %s", name, took, c.after)
			}
			if status, _, _ := strings.Cut(got, "\r\n"); status != c.status {
				t.Errorf("%s: the response is %q, want %q", name, got, c.status)
			}
		})
	}
}

// TestNewServer_echoesOptions sends a request for the whole server, which net/http would handle itself.
func TestNewServer_echoesOptions(t *testing.T) {
	got := echotest.Exchanged(t, echotest.Dial(t, serve(t, handlerOf(t)).URL), "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if _, body, _ := strings.Cut(got, "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200 ") || decode(t, body).Path != "*" {
		t.Errorf("the response is %q", got)
	}
}

// TestReadBody_continuesWithinLimit checks that a client that sends Expect: 100-continue, as curl does, may send a body of exactly the
// maximum size, and that a body must be valid.
func TestReadBody_continuesWithinLimit(t *testing.T) {
	for name, c := range map[string]struct{ sent, want string }{
		"at the limit":   {"Expect: 100-continue\r\nContent-Length: 8388608\r\n\r\n", "HTTP/1.1 100 Continue\r\n"},
		"over the limit": {"Expect: 100-continue\r\nContent-Length: 8388609\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large\r\n"},
		"malformed":      {"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n", "HTTP/1.1 400 Bad Request\r\n"},
	} {
		connection := echotest.Dial(t, serve(t, handlerOf(t)).URL)
		if _, err := io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\n"+c.sent); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(connection).ReadString('\n'); err != nil || got != c.want {
			t.Errorf("%s: the response is %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// running is a server that startRun has started.
type running struct {
	Msg, Address, HTTPS, Admin, Version string // the fields of its first log line
	log                                 *echotest.LockedBuffer
	stop                                context.CancelFunc
	ended                               chan error
}

// startRun calls Run with the given environment variables, and waits until the server listens.
func startRun(t *testing.T, environ ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	r := &running{log: &echotest.LockedBuffer{}, stop: stop, ended: make(chan error, 1)}
	s := settingsOf(t, append(environ, "ECHO_HTTP_ADDR=127.0.0.1:0", "ECHO_ADMIN_ADDR=127.0.0.1:0")...)
	go func() { r.ended <- Run(ctx, s, "dev", slog.New(slog.NewJSONHandler(r.log, nil))) }()
	echotest.Until(t, "it listens", func() bool { return strings.Contains(r.log.String(), "\n") })
	if err := json.NewDecoder(strings.NewReader(r.log.String())).Decode(r); err != nil || r.Msg != "listening" || r.Version != "dev" {
		t.Fatalf("the log is %s, %v", r.log, err)
	}
	return r
}

// TestRun_warns checks that the server warns at startup of controls that are Full, and of variables that are not settings.
func TestRun_warns(t *testing.T) {
	for environ, want := range map[string]string{"ECHO_CONTROLS=Full": "controls are Full: ", "ECHO_CONTROLS=Safe": "",
		"ECHO_A=b": `"names":["ECHO_A"]`} {
		r := startRun(t, environ, "ECHO_DRAIN_DELAY=0s")
		r.stop()
		err := <-r.ended
		if warned := strings.Contains(r.log.String(), `"level":"WARN"`); err != nil || warned != (want != "") || !strings.Contains(r.log.String(), want) {
			t.Errorf("%s: %v, the log is %s", environ, err, r.log)
		}
	}
}

// drained starts to drain a server, and returns the log and a channel that is closed when draining ends.
func drained(life *lifecycle, server *http.Server, delay time.Duration) (log *echotest.LockedBuffer, done chan struct{}) {
	log, done = &echotest.LockedBuffer{}, make(chan struct{})
	go func() {
		defer close(done)
		life.drain(server, delay, slog.New(slog.NewJSONHandler(log, nil)))
	}()
	return log, done
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// TestDrain_stopsListeningAfterDelay checks the server's state at the signal, one nanosecond before the delay ends, and after the delay.
func TestDrain_stopsListeningAfterDelay(t *testing.T) {
	for name, delay := range map[string]time.Duration{"the default": 5 * time.Second, "the shortest": 1} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			server, listener := serveInMemory(t, h)
			log, done := drained(h.life, server, delay)
			synctest.Wait()
			if !h.life.draining.Load() || isClosed(h.life.ending) || isClosed(done) {
				t.Errorf("%s: at the signal it drains: %t, ends: %t", name, h.life.draining.Load(), isClosed(h.life.ending))
			}
			time.AfterFunc(delay-1, func() {
				if isClosed(h.life.ending) || isClosed(listener.Closed) {
					t.Errorf("%s: it ends before the delay is over", name)
				}
			})
			began := time.Now()
			<-done
			if took := time.Since(began); took != delay || !isClosed(h.life.ending) || !isClosed(listener.Closed) {
				t.Errorf("%s: it ended after %s, ending %t, stopped listening %t", name, took, isClosed(h.life.ending), isClosed(listener.Closed))
			}
			if want := `"msg":"draining","delay":"` + delay.String() + `"`; !strings.Contains(log.String(), want) {
				t.Errorf("%s: the log is %s, want %s", name, log, want)
			}
		})
	}
}

// TestDrain_awaitsRequests sends a request, or opens WebSockets, which http.Server does not track. The server must wait for up to 20 s, and then
// close the connections.
func TestDrain_awaitsRequests(t *testing.T) {
	const limit = 20 * time.Second
	for name, c := range map[string]struct {
		request    time.Duration // 0 means none
		webSockets []time.Duration
		want       time.Duration
		isComplete bool
	}{
		"nothing":                       {0, nil, 0, true},
		"a request":                     {limit - time.Second, nil, limit - time.Second, true},
		"a request that takes too long": {limit + time.Second, nil, limit, false},
		"two WebSockets":                {0, []time.Duration{limit - 1, limit - 2}, limit - 1, true},
		"a WebSocket that remains":      {0, []time.Duration{time.Hour}, limit, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			life := newLifecycle()
			server, listener := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(c.request):
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, "complete")
			}))
			response := make(chan string, 1)
			if c.request > 0 {
				connection := listener.Dial(t)
				go func() { response <- echotest.Exchanged(t, connection, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
			}
			for _, takes := range c.webSockets {
				life.webSockets.Add(1)
				time.AfterFunc(takes, life.webSockets.Done)
			}
			synctest.Wait()
			began := time.Now()
			log, done := drained(life, server, 0)
			<-done
			if took := time.Since(began); took < c.want || took > min(limit, c.want+time.Second) || c.request == 0 && took != c.want {
				t.Errorf("%s: the drain took %s, want %s", name, took, c.want)
			}
			if c.request > 0 && strings.HasSuffix(<-response, "complete") != c.isComplete {
				t.Errorf("%s: the response is complete: %t", name, !c.isComplete)
			}
			warned := strings.Contains(log.String(), `"level":"WARN","msg":"stopping with requests in flight","error":"context deadline exceeded`)
			if warned == c.isComplete || strings.Contains(log.String(), `"msg":"drained"`) != c.isComplete {
				t.Errorf("%s: the log is %s", name, log)
			}
			life.webSockets.Wait()
		})
	}
}

// TestDrain_endsDelaysAndEvents checks that delayed responses and event streams end when the drain delay ends, not later.
func TestDrain_endsDelaysAndEvents(t *testing.T) {
	for name, c := range map[string]struct{ path, end string }{
		"a delayed response": {"/?echo.delay=30s&echo.size=4", "\r\n\r\n0123"},
		"an event stream":    {"/-/sse", "\r\n0\r\n\r\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			server, listener := serveInMemory(t, h)
			connection, response := listener.Dial(t), make(chan string)
			go func() { response <- echotest.Exchanged(t, connection, "GET "+c.path+" HTTP/1.1\r\nHost: a\r\n\r\n") }()
			synctest.Wait()
			began := time.Now()
			_, done := drained(h.life, server, 2500*time.Millisecond)
			got := <-response
			if took := time.Since(began); took != 2500*time.Millisecond || !strings.HasPrefix(got, "HTTP/1.1 200 OK") ||
				!strings.HasSuffix(got, c.end) {
				t.Errorf("%s: after %s the response is %q", name, took, got)
			}
			<-done
		})
	}
}

// serveInMemory serves a handler as the program does, but over in-memory connections.
func serveInMemory(t *testing.T, h http.Handler) (*http.Server, *echotest.MemoryListener) {
	t.Helper()
	listener := echotest.NewMemoryListener()
	b := boundsFor(t, h)
	server := newServer(h, transport.DefaultHeaderBytes, b.Reporter)
	bounded := transport.NewBoundedListener(listener, transport.Cost, b)
	go func() { _ = server.Serve(bounded) }()
	t.Cleanup(func() { _ = server.Close() })
	return server, listener
}
