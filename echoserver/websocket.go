package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// maxMessage is the largest WebSocket message that is echoed, in bytes.
const maxMessage = 1 << 20

// webSocket echoes the messages of a WebSocket, and shows others a page to talk to it.
func (h *handler) webSocket(e *exchange, r *http.Request) {
	if r.Method != http.MethodGet {
		e.Header().Set("Allow", http.MethodGet)
		refuse(e, http.StatusMethodNotAllowed, "a WebSocket begins with GET")
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		h.pages.webSocket.serve(e)
		return
	}
	h.life.webSockets.Add(1) // before the connection leaves the server, which would not wait for it any more
	defer h.life.webSockets.Done()
	// Any origin may connect: it gets back nothing but what it sent. A gateway that changes the Host would fail the check.
	connection, err := websocket.Accept(e, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	defer func() { _ = connection.CloseNow() }() // for the ends that were no handshake
	h.metrics.webSockets.Add(1)
	defer h.metrics.webSockets.Add(-1)

	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-h.life.ending:
			_ = connection.Close(websocket.StatusGoingAway, "the server is going away") // the peer may be gone
		case <-done:
		}
	}()
	connection.SetReadLimit(maxMessage)
	err = echoMessages(context.WithoutCancel(r.Context()), connection)
	if errors.Is(err, websocket.ErrMessageTooBig) {
		h.metrics.limited(limitMessage)
	}
}

// echoMessages sends each message back until the connection ends, and returns why it did.
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
