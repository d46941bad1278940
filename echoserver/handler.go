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
	// reserved is the prefix of the server's own paths. Every other path is echoed.
	reserved = "/-/"
	// maxWaiting is how many answers may be held back at a time.
	maxWaiting = 1000
	// statusClientClosedRequest is what the log says of a client that did not wait for its answer.
	statusClientClosedRequest = 499
	// sandbox keeps a browser from running or loading anything that an answer holds.
	sandbox = "default-src 'none'; sandbox"
)

// handler answers the requests of the serving port.
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
	defer func() { // also when the answer is aborted
		h.metrics.ended("http", e, r)
		if !isProbe(r.URL.Path) {
			logAccess(h.log, e, r)
		}
	}()
	harden(w.Header())
	if h.life.draining.Load() {
		w.Header().Set("Connection", "close") // the client's next request finds another pod
	}
	h.route(e, r)
}

// route does without http.ServeMux, which would redirect paths that must be echoed.
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
		refuse(e, http.StatusNotFound, "under /-/ there are only livez, readyz, body, ws and sse")
	}
}

// echo answers a request with what reached the server, or as the request's controls ask. The body is read before
// anything is answered, or net/http would drop what is left of it.
func (h *handler) echo(e *exchange, r *http.Request) {
	if r.Method == http.MethodConnect { // any 2xx would promise a tunnel (RFC 9110, 9.3.6)
		refuse(e, http.StatusMethodNotAllowed, "this server is no proxy")
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

// hold waits until an answer may be given. It returns false when too many wait, and aborts when the client is gone: an empty
// answer would be a wrong one for a client that has only closed its own side.
func (h *handler) hold(e *exchange, r *http.Request, delay time.Duration) bool {
	if delay == 0 {
		return true
	}
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > maxWaiting {
		h.metrics.limited(limitDelays)
		e.Header().Set("Retry-After", "1")
		refuse(e, http.StatusTooManyRequests, fmt.Sprintf("%d answers are being held back already", maxWaiting))
		return false
	}
	select {
	case <-time.After(delay):
		return true
	case <-h.life.ending: // better early than cut off
		return true
	case <-r.Context().Done():
		e.status = statusClientClosedRequest
		panic(http.ErrAbortHandler) // how net/http is told to
	}
}

// answer writes the answer that is wanted.
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

// harden sets what every answer has. The names are canonical, which saves the time to look.
func harden(header http.Header) {
	values := []string{"no-store", "nosniff", sandbox}
	header["Cache-Control"] = values[0:1:1]
	header["X-Content-Type-Options"] = values[1:2:2]
	header["Content-Security-Policy"] = values[2:3:3]
}

// refuse answers with one line of text that says why.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", plainText)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "echo-server: "+why+"\n") // the client may be gone
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
