package server

import (
	"bufio"
	"context"
	"maps"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/internal/proof"
)

// webSocket echoes the messages of a WebSocket. It responds to other requests with a page that opens one.
func (h *handler) webSocket(e *exchange.Exchange, r *http.Request) {
	if r.Method != http.MethodGet {
		e.Header().Set("Allow", http.MethodGet)
		exchange.Reject(e, http.StatusMethodNotAllowed, "a WebSocket requires GET")
		return
	}
	if !asksForWebSocket(r) {
		h.pages.webSocket.serve(e)
		return
	}
	subprotocol, status, err := checkHandshake(r)
	if err != nil {
		refuseHandshake(e, status, err)
		return
	}
	h.life.webSockets.Add(1) // before the connection is hijacked: http.Server does not wait for hijacked connections
	defer h.life.webSockets.Done()
	connection := &webSocketConnection{Connection: connection.Of(r)}
	socket, err := acceptWebSocket(e, r, subprotocol, connection)
	if err != nil {
		return // the library has responded
	}
	h.metrics.webSockets.Add(1)
	defer h.metrics.webSockets.Add(-1)
	session := &webSocketSession{exchange: e, socket: socket, connection: connection}
	if limit := session.run(h.life.ending); limit != "" {
		h.metrics.limited(limit)
	}
}

// acceptWebSocket responds to a valid handshake. Any origin may connect: it receives only what it sent, and gateways change the Host
// header that the library would compare it with. Compressors would hold memory outside of the budget.
func acceptWebSocket(e *exchange.Exchange, r *http.Request, subprotocol string, c *webSocketConnection) (*websocket.Conn, error) {
	maps.DeleteFunc(e.Header(), func(name string, _ []string) bool { return name != proof.ResponseHeader }) // the others mean nothing here
	socket, err := websocket.Accept(upgrade{e, c}, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived: func(context.Context, []byte) bool {
			c.awaitFrame()
			return true
		},
		OnPongReceived: func(context.Context, []byte) { c.awaitFrame() },
	})
	if err != nil {
		return nil, err
	}
	socket.SetReadLimit(maxMessage)
	return socket, nil
}

// upgrade is the response to a handshake. The library hijacks the connection through it.
type upgrade struct {
	*exchange.Exchange
	connection *webSocketConnection
}

// Hijack implements http.Hijacker.
func (u upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	_, buffered, err := http.NewResponseController(u.Exchange).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.connection.early = buffered.Reader.Buffered() > 0
	return u.connection, buffered, nil
}
