package server

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
)

const (
	// statusClientClosedRequest is logged if a client disconnects before its response.
	statusClientClosedRequest = 499
	// sandbox prevents browsers from executing or loading anything in a response.
	sandbox = "default-src 'none'; sandbox"
)

// handler serves the requests to the HTTP port.
type handler struct {
	Settings
	port    string
	started time.Time
	life    *lifecycle
	metrics *metrics
	log     *slog.Logger
	pages   pages
	waiting atomic.Int64
	budget  *connection.Budget
	vary    []string // the value of Vary, which no response changes
	failed  *failureCounts
	// attempts counts the requests with the same nonce.
	attempts *failureCounts
	random   func(n int64) int64 // returns a number from 0 to n-1
	calls    *callHandler
}

func newHandler(s Settings, port string, life *lifecycle, metrics *metrics, log *slog.Logger) *handler {
	h := &handler{Settings: s, port: port, started: time.Now(), life: life, metrics: metrics, log: log, pages: newPages(),
		budget: metrics.budget,
		vary:   []string{s.controls.vary()}, failed: newFailureCounts(), attempts: newFailureCounts(), random: rand.Int64N}
	h.calls = newCallHandler(s, life, metrics, h.awaitDelay)
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := newExchange(w, r)
	e.pool = &h.budget.Requests
	if h.redaction.adds("X-Request-Id") {
		e.id = newRequestID()
	}
	h.metrics.began()
	defer func() { // also if the response is aborted
		h.metrics.ended(listenerOf(r), e, r)
		if !e.overBudget && !isProbe(r.URL.Path) && !isGRPCHealthCheck(r) {
			logAccess(h.log, e, r)
		}
		e.release() // last, because the request is held while its log line waits for earlier ones
	}()
	harden(w.Header())
	h.prove(w.Header(), r)
	if h.life.draining.Load() {
		w.Header().Set("Connection", "close") // so that the next request of the client goes to another pod
	}
	if h.admit(e, r) {
		h.route(e, r)
		e.finish()
	}
}

// route dispatches by path. http.ServeMux would redirect paths that must be echoed.
func (h *handler) route(e *exchange, r *http.Request) {
	if r.Method == http.MethodConnect { // any 2xx would mean a tunnel (RFC 9110, 9.3.6)
		refuse(e, http.StatusMethodNotAllowed, "this server is not a proxy")
		return
	}
	if isCall(r) {
		h.calls.serve(e, r)
		return
	}
	switch routeOf(r.URL.Path) {
	case routeEcho:
		h.echo(e, r)
	case routeLive:
		health(e, true)
	case routeReady:
		health(e, !h.life.draining.Load())
	case routeBody:
		h.streamBody(e, r)
	case routeWebSocket:
		h.webSocket(e, r)
	case routeEvents:
		h.events(e, r, time.Second)
	case routeUnknown:
		refuse(e, http.StatusNotFound, "not found: the paths under /-/ are livez, readyz, body, ws and sse")
	}
}

// echo responds with the request, or as its controls specify. It reads the body before it responds, because net/http drops the rest of
// the body afterwards.
func (h *handler) echo(e *exchange, r *http.Request) {
	e.Header()["Vary"] = h.vary
	body, err := readBody(e, r)
	if time.Since(e.began) > time.Second { // the time of the response begins when the request is complete
		_ = http.NewResponseController(e).SetWriteDeadline(time.Now().Add(responseTimeout)) // if it fails, writing fails too
	}
	if err != nil {
		h.unreadable(e, err)
		return
	}
	if !h.admitTrailer(e, r) {
		return
	}
	wanted, err := h.response.with(r, h.controls)
	if err != nil {
		refuse(e, http.StatusBadRequest, err.Error())
		return
	}
	wanted = h.decide(r, wanted)
	switch {
	case !h.hold(e, r, wanted.delay):
	case wanted.connection == connectionReset:
		h.metrics.applied(wanted.applied())
		e.status = statusNoResponse
		resetConnection(r)
	default:
		h.answer(e, r, &wanted, body)
	}
}

// answer writes the response.
func (h *handler) answer(e *exchange, r *http.Request, wanted *controls, body *body) {
	worst := e.worstResponse(body, wanted.size)
	if worst > 0 && !e.take(worst) {
		h.exhausted(e)
		return
	}
	content := h.content(e, r, wanted, body)
	e.giveBack(worst - max(0, int64(content.held-connection.IncludedResponse)))
	header, applied := e.Header(), wanted.applied()
	if applied != nil {
		header.Set("X-Echo-Applied", applied.String())
		h.metrics.applied(applied)
	}
	header.Set("Content-Type", content.mediaType)
	if content.policy != "" {
		header.Set("Content-Security-Policy", content.policy)
	}
	wanted.setHeaders(header)
	if wanted.earlyHints && r.ProtoAtLeast(1, 1) {
		e.ResponseWriter.WriteHeader(http.StatusEarlyHints) // it is not the status of the exchange
	}
	if wanted.connection == connectionTruncate {
		content.truncate(e, r, wanted.statusOrOK())
		return
	}
	content.write(e, r, wanted.statusOrOK())
}

// setHeaders sets the headers of the controls. They replace those of the server, except for Vary: the response depends on what the
// server lists there, whatever else it depends on. Vary remains one line, because nginx before 1.23 obeys only the last.
func (c *controls) setHeaders(target http.Header) {
	for _, each := range c.headers {
		if !isVary(each) {
			target.Del(each.Name)
		}
	}
	for _, each := range c.headers {
		if isVary(each) {
			target.Set(each.Name, target.Get(each.Name)+","+each.Value)
		} else {
			target.Add(each.Name, each.Value)
		}
	}
}

func isVary(h header) bool { return strings.EqualFold(h.Name, "Vary") }

// harden sets the headers of every response. The names are canonical already, so that it need not call Set, which is slower.
func harden(header http.Header) {
	values := []string{"no-store", "nosniff", sandbox}
	header["Cache-Control"] = values[0:1:1]
	header["X-Content-Type-Options"] = values[1:2:2]
	header["Content-Security-Policy"] = values[2:3:3]
}

// refuse responds with one line of text that contains the reason.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", connection.PlainText)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "echo-server: "+why+"\n") // the client may have disconnected
}

func health(w http.ResponseWriter, healthy bool) {
	w.Header().Set("Content-Type", connection.PlainText)
	if !healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "draining\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// portOf returns the port on which a request came.
func (h *handler) portOf(r *http.Request) string {
	if secure := tlsserver.Of(r); secure != nil {
		return secure.Port()
	}
	return h.port
}

// listenerOf returns the label of the port of a request.
func listenerOf(r *http.Request) string {
	if tlsserver.Of(r) != nil {
		return "https"
	}
	return "http"
}
