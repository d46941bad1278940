package server

import (
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
	"github.com/echo-operator/echo-operator/echoserver/websocket"
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
	delays  *exchange.Delays
	budget  *connection.Budget
	vary    []string // the value of Vary, which no response changes
	chooser *controls.Chooser
	// attempts counts the requests with the same nonce.
	attempts  *controls.Counts
	calls     *callHandler
	webSocket *websocket.Handler
}

func newHandler(s Settings, port string, life *lifecycle, metrics *metrics, log *slog.Logger) *handler {
	h := &handler{Settings: s, port: port, started: time.Now(), life: life, metrics: metrics, log: log, pages: newPages(),
		budget: metrics.budget,
		vary:   []string{s.controls.Vary()}, attempts: controls.NewCounts(),
		delays: &exchange.Delays{Ending: life.ending, Limited: metrics.limited}}
	h.chooser = controls.NewChooser(s.controls, s.response, s.faults, func(r *http.Request) string { return describeClient(r, s.trustedProxies).Address })
	h.webSocket = &websocket.Handler{Ending: life.ending, Sessions: &life.webSockets, Open: &metrics.webSockets, Limited: metrics.limited,
		Page: h.pages.webSocket.serve}
	h.calls = newCallHandler(s, life, metrics, h.delays)
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := exchange.New(w, r)
	e.Pool = &h.budget.Requests
	if h.redaction.adds("X-Request-Id") {
		e.ID = exchange.NewRequestID()
	}
	h.metrics.began()
	defer func() { // also if the response is aborted
		h.metrics.ended(listenerOf(r), r, e.StatusOrOK(), time.Since(e.Began))
		if !e.OverBudget && !isProbe(r.URL.Path) && !isGRPCHealthCheck(r) {
			exchange.LogAccess(h.log, e, r)
		}
		e.End() // last, because the request is held while its log line waits for earlier ones
	}()
	exchange.SetSecurityHeaders(w.Header())
	h.prove(w.Header(), r)
	if h.life.draining.Load() {
		w.Header().Set("Connection", "close") // so that the next request of the client goes to another pod
	}
	if h.admit(e, r) {
		h.route(e, r)
		e.Finish()
	}
}

// route dispatches by path. http.ServeMux would redirect paths that must be echoed.
func (h *handler) route(e *exchange.Exchange, r *http.Request) {
	if r.Method == http.MethodConnect { // any 2xx would mean a tunnel (RFC 9110, 9.3.6)
		exchange.Reject(e, http.StatusMethodNotAllowed, "this server is not a proxy")
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
		h.webSocket.Serve(e, r)
	case routeEvents:
		h.events(e, r, time.Second)
	case routeUnknown:
		exchange.Reject(e, http.StatusNotFound, "not found: the paths under /-/ are livez, readyz, body, ws and sse")
	}
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
