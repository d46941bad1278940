package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// reserved is the prefix of the paths with a special meaning. Requests to all other paths are echoed.
	reserved = "/-/"
	// maxWaiting is how many responses can be delayed at the same time.
	maxWaiting = 1000
	// statusClientClosedRequest is logged if a client disconnects before its response.
	statusClientClosedRequest = 499
	// sandbox prevents browsers from executing or loading anything in a response.
	sandbox = "default-src 'none'; sandbox"
)

// handler serves the requests to the HTTP port.
type handler struct {
	settings
	port    string
	started time.Time
	life    *lifecycle
	metrics *metrics
	log     *slog.Logger
	pages   pages
	waiting atomic.Int64
	buffers sync.Pool // of *[answerCapacity]byte
}

func newHandler(s settings, port string, life *lifecycle, metrics *metrics, log *slog.Logger) *handler {
	return &handler{settings: s, port: port, started: time.Now(), life: life, metrics: metrics, log: log, pages: newPages(),
		buffers: sync.Pool{New: func() any { return new([answerCapacity]byte) }}}
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := newExchange(w, r)
	h.metrics.began()
	defer func() { // also if the response is aborted
		h.metrics.ended("http", e, r)
		if !isProbe(r.URL.Path) {
			logAccess(h.log, e, r)
		}
	}()
	harden(w.Header())
	if h.life.draining.Load() {
		w.Header().Set("Connection", "close") // so that the next request of the client goes to another pod
	}
	h.route(e, r)
}

// route dispatches by path. http.ServeMux would redirect paths that must be echoed.
func (h *handler) route(e *exchange, r *http.Request) {
	switch path := r.URL.Path; {
	case !strings.HasPrefix(path, reserved):
		h.echo(e, r)
	case path == "/-/livez":
		health(e, true)
	case path == "/-/readyz":
		health(e, !h.life.draining.Load())
	case path == "/-/body":
		h.streamBody(e, r)
	case path == "/-/ws":
		h.webSocket(e, r)
	case path == "/-/sse":
		h.events(e, r, time.Second)
	default:
		refuse(e, http.StatusNotFound, "not found: the paths under /-/ are livez, readyz, body, ws and sse")
	}
}

// echo responds with the request, or as its controls specify. It reads the body before it responds, because net/http drops the rest of
// the body afterwards.
func (h *handler) echo(e *exchange, r *http.Request) {
	if r.Method == http.MethodConnect { // any 2xx would mean a tunnel (RFC 9110, 9.3.6)
		refuse(e, http.StatusMethodNotAllowed, "this server is not a proxy")
		return
	}
	body, err := readBody(e.ResponseWriter, r)
	if err != nil {
		h.unreadable(e, err)
		return
	}
	wanted, err := h.response.with(r)
	if err != nil {
		refuse(e, http.StatusBadRequest, err.Error())
		return
	}
	if h.hold(e, r, wanted.delay) {
		h.answer(e, r, &wanted, body)
	}
}

// hold waits for the delay. It returns false if too many responses are delayed, and aborts if the client disconnects: a client that has
// closed only its sending side would take an empty response for a valid one.
func (h *handler) hold(e *exchange, r *http.Request, delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxWaiting {
		h.metrics.limited(limitDelays)
		e.Header().Set("Retry-After", "1")
		refuse(e, http.StatusTooManyRequests, fmt.Sprintf("%d responses are delayed already", maxWaiting))
		return false
	}
	select {
	case <-time.After(delay):
		return true
	case <-h.life.ending: // better early than aborted
		return true
	case <-r.Context().Done():
		e.status = statusClientClosedRequest
		panic(http.ErrAbortHandler) // tells net/http to close the connection
	}
}

// answer writes the response.
func (h *handler) answer(e *exchange, r *http.Request, wanted *controls, body *body) {
	header, applied := e.Header(), wanted.applied()
	if applied != nil {
		header.Set("X-Echo-Applied", applied.String())
		h.metrics.applied(applied)
	}
	buffer, _ := h.buffers.Get().(*[answerCapacity]byte)
	defer h.buffers.Put(buffer)
	content := h.content(e, r, wanted, body, buffer)
	header.Set("Content-Type", content.mediaType)
	if content.policy != "" {
		header.Set("Content-Security-Policy", content.policy)
	}
	for _, each := range wanted.headers {
		header.Del(each.Name)
	}
	for _, each := range wanted.headers {
		header.Add(each.Name, each.Value)
	}
	content.write(e, wanted.statusOrOK())
}

// harden sets the headers of every response. The names are canonical already, so that it need not call Set, which is slower.
func harden(header http.Header) {
	values := []string{"no-store", "nosniff", sandbox}
	header["Cache-Control"] = values[0:1:1]
	header["X-Content-Type-Options"] = values[1:2:2]
	header["Content-Security-Policy"] = values[2:3:3]
}

// refuse responds with one line of text that contains the reason.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", plainText)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "echo-server: "+why+"\n") // the client may have disconnected
}

func isProbe(path string) bool { return path == "/-/livez" || path == "/-/readyz" }

func health(w http.ResponseWriter, healthy bool) {
	w.Header().Set("Content-Type", plainText)
	if !healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "draining\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
