package server

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpc"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/echoserver/websocket"
	"github.com/echo-operator/echo-operator/internal/proof"
)

// handler serves requests to the public ports.
type handler struct {
	Settings
	describer *describe.Describer
	life      *lifecycle
	metrics   *metrics
	log       *slog.Logger
	pages     describe.Pages
	delays    *exchange.Delays
	budget    *transport.Budget
	chooser   *controls.Chooser
	arrivals  *exchange.Arrivals
	calls     *grpc.Handler
	webSocket *websocket.Handler
}

func newHandler(s Settings, port string, life *lifecycle, metrics *metrics, log *slog.Logger) *handler {
	h := &handler{Settings: s, life: life, metrics: metrics, log: log, pages: describe.NewPages(),
		budget: metrics.budget, delays: &exchange.Delays{Ending: life.ending, Rejected: metrics.Rejected}}
	echo := proof.Echo{Namespace: s.identity.Namespace, Name: s.identity.Service} // a Service has the same name as its Echo
	h.arrivals = exchange.NewArrivals(echo, &h.budget.Requests)
	h.describer = &describe.Describer{Identity: s.identity, ShowIdentity: s.showIdentity, TrustedProxies: s.trustedProxies,
		Redaction: s.redaction, Version: s.version, Port: port, Started: time.Now(), Draining: life.draining.Load}
	h.chooser = controls.NewChooser(s.controls, s.response, s.faults, h.describer.ClientAddress)
	h.webSocket = &websocket.Handler{Ending: life.ending, Sessions: &life.webSockets, Open: &metrics.webSockets, Rejected: metrics.Rejected,
		Page: h.pages.WebSocket.Serve, Log: h.logHandshake}
	h.calls = grpc.NewHandler(grpc.Config{Describer: h.describer, Chooser: h.chooser, Delays: h.delays, Called: metrics.called,
		Rejected: metrics.Rejected, Ending: life.ending, NotReady: life.notReady})
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := exchange.New(w, r)
	e.Pool, e.Count = &h.budget.Requests, h.metrics.applied
	if h.redaction.Adds("X-Request-Id") {
		e.ID = exchange.NewRequestID()
	}
	target := routeOf(routedPath(r.URL))
	h.metrics.inFlight.Add(1)
	defer func() { // runs even if the response is aborted
		listener := "http"
		if transport.TLSConnectionOf(r) != nil {
			listener = "https"
		}
		h.metrics.ended(listener, r, e.StatusOrOK(), time.Since(e.Began))
		isProbe := target == "/-/livez" || target == "/-/readyz"
		if !e.OverBudget && !isProbe && !grpc.IsHealthCheck(r) {
			exchange.LogAccess(h.log, e, r)
		}
		e.End() // must be last, because the request stays in memory while its log line waits for earlier lines
	}()
	exchange.SetSecurityHeaders(w.Header())
	h.chooser.Begin(e, 0)
	h.arrivals.Receive(e, r)
	if h.life.draining.Load() {
		w.Header().Set("Connection", "close") // makes the client open a new connection, which reaches another pod
	}
	if h.admit(e, r) {
		h.route(e, r, target)
		e.Finish()
	}
}

// route dispatches a request to the handler for its route. It does not use http.ServeMux, which redirects some paths that must be echoed.
func (h *handler) route(e *exchange.Exchange, r *http.Request, target string) {
	if r.Method == http.MethodConnect { // any 2xx status would mean that a tunnel is open (RFC 9110, 9.3.6)
		exchange.Reject(e, http.StatusMethodNotAllowed, "this server is not a proxy")
		return
	}
	if grpc.IsCall(r) {
		h.calls.Serve(e, r)
		return
	}
	if target == "" {
		h.echo(e, r)
		return
	}
	desired, ok := h.control(e, r, target)
	if !ok {
		return
	}
	switch target {
	case "/-/livez":
		health(e, true)
	case "/-/readyz":
		health(e, !h.life.draining.Load())
	case "/-/body":
		h.streamBody(e, r)
	case "/-/ws":
		h.webSocket.Serve(e, r, func() ([]byte, int64, bool) { return h.echoHandshake(e, r, &desired) })
	case "/-/sse":
		h.events(e, r, time.Second)
	case "/-/arrivals":
		h.record(e, r)
	default:
		exchange.Reject(e, http.StatusNotFound, "not found: the paths under /-/ are livez, readyz, body, ws, sse, and arrivals")
	}
}

// control applies the controls of a request to a path below /-/, but not yet the echo of a handshake. It returns false if it has responded,
// because a control is not valid or specifies the status.
func (h *handler) control(e *exchange.Exchange, r *http.Request, route string) (desired controls.Controls, ok bool) {
	targets := map[string]controls.Target{"/-/body": controls.Stream, "/-/sse": controls.Stream, "/-/ws": controls.WebSocket}
	if desired, ok = h.choose(e, r, cmp.Or(targets[route], controls.Other)); !ok {
		return desired, false
	}
	applied := desired
	applied.Handshake = false
	h.chooser.Apply(e, &applied)
	if desired.Status == 0 {
		return desired, true
	}
	response := contentOf(e, transport.PlainText, []byte("echo-server: the request specifies this status\n"))
	e.Header().Set("Content-Type", response.mediaType)
	response.write(e, desired.Status, false)
	return desired, false
}

func health(e *exchange.Exchange, healthy bool) {
	status, text := http.StatusOK, "ok\n"
	if !healthy {
		status, text = http.StatusServiceUnavailable, "draining\n"
	}
	e.Reply(status, transport.PlainText, text)
}

// record responds with the requests that asked for a proof with a nonce. Only a client that knows the nonce can ask for them.
func (h *handler) record(e *exchange.Exchange, r *http.Request) {
	if !exchange.Gets(e, r, "the record of a nonce") {
		return
	}
	nonce := r.URL.Query().Get("nonce")
	if !proof.IsNonce(nonce) {
		exchange.Reject(e, http.StatusBadRequest, "nonce: it must have 16 to 64 lowercase hexadecimal digits")
		return
	}
	data, _ := json.Marshal(h.arrivals.Record(nonce)) // all types can be encoded
	e.Reply(http.StatusOK, "application/json", string(data)+"\n")
}

// routeOf returns the route for a path: a path that begins with /-/, or "" for an echo. Stream routes exist under any prefix, so that they
// are reachable through an Ingress with a path. Other routes exist only at the root, because load balancers send probes without the prefix,
// and an application's path may end like a probe route.
func routeOf(path string) string {
	for _, stream := range []string{"/-/body", "/-/ws", "/-/sse", "/-/arrivals"} {
		if strings.HasSuffix(path, stream) {
			return stream
		}
	}
	if strings.HasPrefix(path, "/-/") {
		return path
	}
	return ""
}

// routedPath returns the decoded path of a URL. An escaped slash stays escaped, because it is not a separator (RFC 3986, 2.2).
func routedPath(u *url.URL) string {
	if u.RawPath == "" { // RawPath is set only if the path has unusual escapes
		return u.Path
	}
	// This never fails, because net/http has parsed the path.
	path, _ := url.PathUnescape(strings.NewReplacer("%2F", "%252F", "%2f", "%252F").Replace(u.RawPath))
	return path
}
