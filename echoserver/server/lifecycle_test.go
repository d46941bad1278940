package server

import (
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
	for name, delay := range map[string]time.Duration{"the default": 5 * time.Second, "the shortest": 1, "a long one": time.Hour} {
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

// TestDrain_awaitsRequests sends a request that takes longer than the drain delay. The server must wait for up to 20 s, and then close the
// connection.
func TestDrain_awaitsRequests(t *testing.T) {
	const limit = 20 * time.Second
	for name, c := range map[string]struct {
		takes    time.Duration
		complete bool
	}{
		"shorter than the limit": {limit - time.Second, true},
		"longer than the limit":  {limit + time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			life := newLifecycle()
			server, listener := serveInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(c.takes):
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, "complete")
			}))
			connection, got := listener.Dial(t), make(chan string)
			go func() { got <- echotest.Exchanged(t, connection, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }()
			synctest.Wait()
			began := time.Now()
			log, done := drained(life, server, 0)
			if got := strings.HasSuffix(<-got, "complete"); got != c.complete {
				t.Errorf("%s: the response is complete: %t, want %t", name, got, c.complete)
			}
			<-done
			if took := time.Since(began); c.complete && took < c.takes || took > limit {
				t.Errorf("%s: the drain took %s", name, took)
			}
			warned := strings.Contains(log.String(), `"level":"WARN","msg":"stopping with requests in flight","error":"context deadline exceeded`)
			if warned == c.complete || strings.Contains(log.String(), `"msg":"drained"`) != c.complete {
				t.Errorf("%s: the log is %s", name, log)
			}
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

// TestDrain_awaitsWebSockets checks that a WebSocket, which http.Server does not track, gets as much time as a request.
func TestDrain_awaitsWebSockets(t *testing.T) {
	for name, c := range map[string]struct {
		open        int
		takes, want time.Duration // each additional WebSocket takes one nanosecond less
		last        string
	}{
		"none":             {0, 0, 0, `"msg":"drained"`},
		"one that closes":  {1, 3 * time.Second, 3 * time.Second, `"msg":"drained"`},
		"two that close":   {2, 19 * time.Second, 19 * time.Second, `"msg":"drained"`},
		"one that remains": {1, time.Hour, 20 * time.Second, `"msg":"stopping with requests in flight","error":"context deadline exceeded"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			life := newLifecycle()
			server, _ := serveInMemory(t, http.NotFoundHandler())
			for i := range c.open {
				life.webSockets.Add(1)
				time.AfterFunc(c.takes-time.Duration(i), life.webSockets.Done)
			}
			began := time.Now()
			log, done := drained(life, server, 0)
			<-done
			if took := time.Since(began); took != c.want || !strings.Contains(log.String(), c.last) {
				t.Errorf("%s: the drain took %s, want %s; the log is %s", name, took, c.want, log)
			}
			life.webSockets.Wait()
		})
	}
}

// serveInMemory serves a handler as the program does, but over in-memory connections.
func serveInMemory(t *testing.T, h http.Handler) (*http.Server, *echotest.MemoryListener) {
	t.Helper()
	listener := echotest.NewMemoryListener()
	b := boundsFor(h)
	server := newServer(h, transport.DefaultHeaderBytes, b.Reporter)
	bounded := transport.NewBoundedListener(listener, transport.Cost, b)
	go func() { _ = server.Serve(bounded) }()
	t.Cleanup(func() { _ = server.Close() })
	return server, listener
}
