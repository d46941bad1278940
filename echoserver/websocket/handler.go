package websocket

import (
	"bufio"
	"context"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/internal/proof"
)

// Handler echoes WebSocket messages.
type Handler struct {
	Ending   <-chan struct{}                         // closed when the server stops
	Sessions *sync.WaitGroup                         // counts WebSockets, because http.Server does not wait for them
	Open     *atomic.Int64                           // the number of open WebSockets
	Rejected func(reason string)                     // counts a message that was rejected because of a limit
	Page     func(http.ResponseWriter)               // responds with a page that opens a WebSocket
	Log      func(*exchange.Exchange, *http.Request) // logs a WebSocket request, even if its handshake is invalid
	// First returns the first message if the handshake requests one, and the number of bytes reserved for the message. It returns false if it
	// rejected the handshake.
	First func(*exchange.Exchange, *http.Request) (text []byte, acquired int64, ok bool)
}

// Serve echoes the messages of a WebSocket. It responds with the page if the request is not a handshake.
func (h *Handler) Serve(e *exchange.Exchange, r *http.Request) {
	if !exchange.Gets(e, r, "a WebSocket") {
		return
	}
	h.Log(e, r)
	if !isHandshake(r) {
		h.Page(e)
		return
	}
	subprotocol, status, err := checkHandshake(r)
	if err != nil {
		rejectHandshake(e, status, err)
		return
	}
	text, acquired, ok := h.First(e, r)
	if !ok {
		return
	}
	h.Sessions.Add(1) // before the connection is hijacked, so that the server waits for the WebSocket
	defer h.Sessions.Done()
	connection := &sessionConnection{Connection: transport.ConnectionOf(r)}
	socket, err := accept(e, r, subprotocol, connection)
	if err != nil {
		return // the library has already responded
	}
	h.Open.Add(1)
	defer h.Open.Add(-1)
	session := &session{exchange: e, socket: socket, connection: connection}
	if text != nil {
		session.first = &message{exchange: e, chunks: [][]byte{text}, reserved: acquired}
	}
	if limit := session.run(h.Ending); limit != "" {
		h.Rejected(limit)
	}
}

// accept responds to a valid handshake. It accepts any origin, because a client receives only data that it sent or that proxies added. The
// library would compare the origin with the Host header, which gateways can change. accept disables compression, which would use memory
// outside the budget.
func accept(e *exchange.Exchange, r *http.Request, subprotocol string, c *sessionConnection) (*websocket.Conn, error) {
	maps.DeleteFunc(e.Header(), func(name string, _ []string) bool { // other headers have no meaning in a handshake response
		return name != proof.ResponseHeader && name != "X-Echo-Applied"
	})
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

// upgrade is the response writer through which the library hijacks a connection.
type upgrade struct {
	*exchange.Exchange
	connection *sessionConnection
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
