package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// maxMessage is the maximum size of a WebSocket message, in bytes.
const maxMessage = 1 << 20

// webSocket echoes the messages of a WebSocket. It responds to other requests with a page that opens one.
func (h *handler) webSocket(e *exchange, r *http.Request) {
	if r.Method != http.MethodGet {
		e.Header().Set("Allow", http.MethodGet)
		refuse(e, http.StatusMethodNotAllowed, "a WebSocket requires GET")
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		h.pages.webSocket.serve(e)
		return
	}
	h.life.webSockets.Add(1) // before the connection is hijacked: http.Server does not wait for hijacked connections
	defer h.life.webSockets.Done()
	// Any origin may connect: it receives only what it sent. The check would fail behind a gateway that changes the Host header.
	connection, err := websocket.Accept(e, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has responded
	}
	defer func() { _ = connection.CloseNow() }() // unless it was closed by a handshake
	h.metrics.webSockets.Add(1)
	defer h.metrics.webSockets.Add(-1)

	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-h.life.ending:
			_ = connection.Close(websocket.StatusGoingAway, "the server is stopping") // the peer may be gone
		case <-done:
		}
	}()
	connection.SetReadLimit(maxMessage)
	err = echoMessages(context.WithoutCancel(r.Context()), connection)
	if errors.Is(err, websocket.ErrMessageTooBig) {
		h.metrics.limited(limitMessage)
	}
}

// echoMessages sends each message back until the connection ends, and returns the error that ended it.
func echoMessages(ctx context.Context, connection *websocket.Conn) error {
	for {
		if err := echoMessage(ctx, connection); err != nil {
			return err
		}
	}
}

func echoMessage(ctx context.Context, connection *websocket.Conn) error {
	reading, cancel := context.WithTimeout(ctx, idleTimeout)
	defer cancel()
	kind, message, err := connection.Read(reading)
	if err != nil {
		return err
	}
	writing, cancel := context.WithTimeout(ctx, stallTimeout)
	defer cancel()
	return connection.Write(writing, kind, message)
}
