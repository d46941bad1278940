package main

import (
	"net/http"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// webSocket echoes the messages of a WebSocket. It responds to other requests with a page that opens one.
func (h *handler) webSocket(e *exchange, r *http.Request) {
	if r.Method != http.MethodGet {
		e.Header().Set("Allow", http.MethodGet)
		refuse(e, http.StatusMethodNotAllowed, "a WebSocket requires GET")
		return
	}
	if !asksForWebSocket(r) {
		h.pages.webSocket.serve(e)
		return
	}
	response, status, err := handshakeOf(r)
	if err != nil {
		refuseHandshake(e, status, err)
		return
	}
	h.life.webSockets.Add(1) // before the connection is hijacked: http.Server does not wait for hijacked connections
	defer h.life.webSockets.Done()
	connection, buffered, err := http.NewResponseController(e).Hijack()
	if err != nil {
		refuse(e, http.StatusInternalServerError, "the connection cannot become a WebSocket")
		return
	}
	e.status = status
	response.proof = e.Header().Get(proof.ResponseHeader)
	h.metrics.webSockets.Add(1)
	defer h.metrics.webSockets.Add(-1)
	memory := messageMemory{grow: h.budget.requests.takeLarge, release: h.budget.requests.give}
	session := newWebSocketSession(connection, buffered.Reader, h.life.ending, memory)
	if limit := session.run(response.bytes()).limit(); limit != "" {
		h.metrics.limited(limit)
	}
}

// limit returns the limit because of which the server closes, empty if there is none.
func (c *webSocketClose) limit() string {
	switch {
	case c == nil || c.received:
		return ""
	case c.code == closeTooBig:
		return limitMessage
	case c.code == closeTryAgainLater:
		return limitMemory
	}
	return ""
}
