package server

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// echo responds with a description of the request, or with the response that the request's controls specify. It reads the body first,
// because net/http drops the rest of the body when the response begins.
func (h *handler) echo(e *exchange.Exchange, r *http.Request) {
	body, err := exchange.ReadBody(e, r)
	if r.Body != http.NoBody { // the time limit for the response starts at the end of the request
		_ = http.NewResponseController(e).SetWriteDeadline(time.Now().Add(exchange.ResponseTimeout)) // if this fails, so does writing
	}
	if err != nil {
		h.unreadable(e, err)
		return
	}
	size, longestField := transport.FieldsSize(r.Trailer) // for which admitStream has reserved memory
	e.HeaderSize += size.Bytes
	if !h.checkHeader(e, r, size, longestField) {
		return
	}
	desired, ok := h.choose(e, r, controls.Echo)
	switch {
	case !ok:
	case desired.Connection == controls.ConnectionReset:
		desired.Applied().Each(h.metrics.applied)
		e.Status = statusNoResponse
		if c := transport.ConnectionOf(r); c != nil && r.ProtoMajor == 1 {
			_ = c.SendReset() // fails only if the client has disconnected
		}
		panic(http.ErrAbortHandler) // makes net/http close the connection or reset the stream
	default:
		h.respond(e, r, &desired, body)
	}
}

func (h *handler) respond(e *exchange.Exchange, r *http.Request, desired *controls.Controls, body *exchange.Body) {
	worst := describe.MaxBytes(e, r, body) // the maximum memory that the response can use in addition to what the cost of the request includes
	switch {
	case desired.Size != nil: // generated text needs only a copy buffer
		worst = int64(min(*desired.Size, copyBuffer))
	case worst <= 2*transport.IncludedResponse:
		worst = 0
	}
	if worst > 0 && !e.Acquire(worst) {
		h.exhausted(e)
		return
	}
	desired.EarlyHints = desired.EarlyHints && r.ProtoAtLeast(1, 1)
	content := h.content(e, r, desired, body)
	e.Release(worst - max(0, int64(content.held-transport.IncludedResponse)))
	e.Header().Set("Content-Type", content.mediaType)
	truncate := desired.Connection == controls.ConnectionTruncate
	if r.Method == http.MethodHead || content.length == 0 || !exchange.AllowsBody(desired.StatusOrOK()) {
		desired.Connection = ""                  // there is nothing to truncate, so the response must not report it
		truncate = truncate && r.ProtoMajor == 1 // closes the connection, where a reset would break a complete HTTP/2 response
	}
	if content.status != http.StatusRequestedRangeNotSatisfiable {
		h.chooser.Apply(e, desired)
	}
	if desired.EarlyHints {
		e.ResponseWriter.WriteHeader(http.StatusEarlyHints) // status 103 must not be recorded as the final status
	}
	content.write(e, desired.StatusOrOK(), truncate)
	if truncate {
		_ = http.NewResponseController(e).Flush() // the client may have disconnected
		panic(http.ErrAbortHandler)               // makes net/http close the connection or reset the stream
	}
}

// choose returns the controls that apply to a request after the delay that they specify, or false if it rejected the request. If the client
// disconnects, choose aborts the response, because a client that closed only its sending side would accept an empty response.
func (h *handler) choose(e *exchange.Exchange, r *http.Request, target controls.Target) (desired controls.Controls, ok bool) {
	desired, err := h.chooser.For(r, target)
	if err != nil {
		exchange.Reject(e, http.StatusBadRequest, err.Error())
		return desired, false
	}
	if desired.Delay == 0 { // nearly all requests
		return desired, true
	}
	switch err := h.delays.Await(r.Context(), e, desired.Delay); {
	case err == nil:
		h.chooser.Begin(e, desired.Delay)
		return desired, true
	case errors.Is(err, exchange.ErrTooManyDelays):
		e.Header().Set("Retry-After", "1")
		exchange.Reject(e, http.StatusTooManyRequests, err.Error())
	case errors.Is(err, exchange.ErrOverBudget):
		h.exhausted(e)
	default:
		e.Status = statusClientClosedRequest
		panic(http.ErrAbortHandler) // makes net/http close the connection
	}
	return desired, false
}

// echoHandshake returns the JSON echo of a WebSocket handshake, if the handshake requests an echo, and the number of bytes reserved for the
// echo. The third result is false if echoHandshake rejected the handshake.
func (h *handler) echoHandshake(e *exchange.Exchange, r *http.Request, desired *controls.Controls) (text []byte, acquired int64, ok bool) {
	if !desired.Handshake {
		return nil, 0, true
	}
	acquired = 2 * describe.MaxBytes(e, r, nil) // because the proof needs a copy
	if !e.Acquire(acquired) {
		h.exhausted(e)
		return nil, 0, false
	}
	e.Applied = desired.Applied()
	describer := *h.describer
	if h.controls != controls.Full {
		// The handshake must come from one of this server's pages, or from no page at all. Browsers let pages from any origin read WebSocket
		// messages, but not responses to other requests.
		origin, err := url.Parse(r.Header.Get("Origin"))
		isSameOrigin := err == nil && (origin.Host == r.Host || r.Header["Origin"] == nil)
		describer.ShowIdentity = h.showIdentity && isSameOrigin
	}
	return e.Enclose(bytes.TrimSpace(describer.Describe(e, r, e.Applied, nil).CompactJSON(false))), acquired, true
}

// logHandshake logs the echo of a WebSocket request at debug level. The echo shows whether a proxy has removed headers that a handshake
// requires. If there is not enough memory for the log line, logHandshake logs nothing.
func (h *handler) logHandshake(e *exchange.Exchange, r *http.Request) {
	if !h.log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	cost := describe.MaxBytes(e, r, nil)
	if !e.Acquire(cost) {
		return
	}
	h.log.LogAttrs(r.Context(), slog.LevelDebug, "handshake", slog.String("id", e.ID), slog.Any("echo", h.describer.Describe(e, r, nil, nil)))
	e.Release(cost)
}
