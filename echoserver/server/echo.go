package server

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// echo responds with the request, or as its controls specify. It reads the body before it responds, because net/http drops the rest of
// the body afterwards.
func (h *handler) echo(e *exchange.Exchange, r *http.Request) {
	e.Header()["Vary"] = h.vary
	body, err := exchange.ReadBody(e, r)
	if time.Since(e.Began) > time.Second { // the time of the response begins when the request is complete
		_ = http.NewResponseController(e).SetWriteDeadline(time.Now().Add(exchange.ResponseTimeout)) // if it fails, writing fails too
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
		exchange.Reject(e, http.StatusBadRequest, err.Error())
		return
	}
	wanted = h.decide(r, wanted)
	switch {
	case !h.hold(e, r, wanted.delay):
	case wanted.connection == connectionReset:
		h.metrics.applied(wanted.applied())
		e.Status = statusNoResponse
		resetConnection(r)
	default:
		h.answer(e, r, &wanted, body)
	}
}

// answer writes the response.
func (h *handler) answer(e *exchange.Exchange, r *http.Request, wanted *controls, body *exchange.Body) {
	worst := worstResponse(e, body, wanted.size)
	if worst > 0 && !e.Acquire(worst) {
		h.exhausted(e)
		return
	}
	content := h.content(e, r, wanted, body)
	e.Release(worst - max(0, int64(content.held-connection.IncludedResponse)))
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

// statusClientClosedRequest is logged if a client disconnects before its response.
const statusClientClosedRequest = 499

// hold waits for the delay. It returns false if too many responses are delayed, and aborts if the client disconnects: a client that has
// closed only its sending side would take an empty response for a valid one.
func (h *handler) hold(e *exchange.Exchange, r *http.Request, delay time.Duration) bool {
	switch err := h.delays.Await(r.Context(), e, delay); {
	case err == nil:
		return true
	case errors.Is(err, exchange.ErrTooManyDelays):
		e.Header().Set("Retry-After", "1")
		exchange.Reject(e, http.StatusTooManyRequests, err.Error())
	case errors.Is(err, exchange.ErrOverBudget):
		h.exhausted(e)
	default:
		e.Status = statusClientClosedRequest
		panic(http.ErrAbortHandler) // tells net/http to close the connection
	}
	return false
}
