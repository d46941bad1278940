// Package websocket echoes WebSocket messages.
package websocket

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

// Handler echoes WebSocket messages.
type Handler struct {
	Ending   <-chan struct{}                         // closed when the server stops
	Sessions *sync.WaitGroup                         // counts WebSockets, because http.Server does not wait for them
	Open     *atomic.Int64                           // the number of open WebSockets
	Rejected func(reason string)                     // counts a message that was rejected because of a limit
	Page     func(*exchange.Exchange)                // responds with a page that opens a WebSocket
	Log      func(*exchange.Exchange, *http.Request) // logs a WebSocket request, even if its handshake is invalid
}

// Serve echoes the messages of a WebSocket. It responds with the page if the request is not a handshake. The function first returns the
// first message, if any, and the number of bytes reserved for the message. It returns false if it rejected the handshake.
func (h *Handler) Serve(e *exchange.Exchange, r *http.Request, first func() (text []byte, acquired int64, ok bool)) {
	if !exchange.Gets(e, r, "a WebSocket") {
		return
	}
	h.Log(e, r)
	// HTTP/1.0, HTTP/2, and HEAD requests cannot upgrade the connection.
	isHandshake := r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ProtoMinor >= 1 &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
	if !isHandshake {
		h.Page(e)
		return
	}
	subprotocol, status, err := checkHandshake(r)
	if err != nil {
		if status == http.StatusUpgradeRequired {
			e.Header().Add("Connection", "Upgrade")
			e.Header().Set("Upgrade", "websocket")
			e.Header().Set("Sec-WebSocket-Version", version)
		}
		exchange.Reject(e, status, err.Error())
		return
	}
	text, acquired, ok := first()
	if !ok {
		return
	}
	h.Sessions.Add(1) // before the connection is hijacked, so that the server waits for the WebSocket
	defer h.Sessions.Done()
	connection := &sessionConnection{Connection: transport.ConnectionOf(r)}
	socket, err := websocket.Accept(upgrade{e, connection}, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol},
		// Any origin is accepted, because a client receives only data that it sent or that proxies added. The library would compare the
		// origin with the Host header, which gateways can change.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled, // compression would use memory outside the budget
		OnPingReceived: func(context.Context, []byte) bool {
			connection.awaitFrame()
			return true
		},
		OnPongReceived: func(context.Context, []byte) { connection.awaitFrame() },
	})
	if err != nil {
		return // the library has already responded
	}
	socket.SetReadLimit(maxMessage)
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

const version = "13"

// checkHandshake returns the first subprotocol that a WebSocket request offers, if any. For an invalid request, it returns the status and
// the reason for the rejection (RFC 6455, 4.2). The library performs fewer checks, and does not name the header in its reasons.
func checkHandshake(r *http.Request) (subprotocol string, status int, err error) {
	subprotocol, isToken := firstElement(r.Header["Sec-Websocket-Protocol"])
	nonce, err := base64.StdEncoding.Strict().DecodeString(strings.Join(r.Header["Sec-Websocket-Key"], ",")) // a comma is not base64
	switch {
	case !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade"):
		err = errors.New("the Connection header of a WebSocket handshake must contain Upgrade; a gateway may have removed it")
	case r.ContentLength != 0:
		err = errors.New("a WebSocket handshake must not have a body")
	case err != nil || len(nonce) != 16:
		err = errors.New("the Sec-WebSocket-Key header must be 16 bytes in base64")
	case strings.Join(r.Header["Sec-Websocket-Version"], ",") != version:
		return "", http.StatusUpgradeRequired, errors.New("the Sec-WebSocket-Version header must be " + version)
	case !isToken:
		err = errors.New("the Sec-WebSocket-Protocol header must be a list of tokens")
	}
	return subprotocol, http.StatusBadRequest, err
}

// firstElement returns the first element of a list, and whether it is a token (RFC 9110, 5.6). For an empty list, it returns "" and true.
func firstElement(values []string) (string, bool) {
	for element := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if element = strings.Trim(element, " \t"); element != "" {
			return element, httpguts.ValidHeaderFieldName(element)
		}
	}
	return "", true
}

// upgrade is the response writer through which the library hijacks a connection.
type upgrade struct {
	*exchange.Exchange
	connection *sessionConnection
}

func (u upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	_, buffered, err := http.NewResponseController(u.Exchange).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.connection.early = buffered.Reader.Buffered() > 0
	return u.connection, buffered, nil
}
