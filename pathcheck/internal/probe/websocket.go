package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// largeMessage is the size of the larger WebSocket message.
const largeMessage = 256 << 10

// ExamineWebSocket opens WebSockets and sends messages.
func ExamineWebSocket(ctx context.Context, g *Group) error {
	x := experiment{fact: "websocket.upgrade", sent: "Upgrade: websocket",
		send: func(ctx context.Context, _ *wire.Request) (*wire.Response, error) { return g.openWebSocket(ctx) },
		read: func(o Outcome) (string, string) {
			isOpen := o.WebSocket != nil
			return choose(isOpen, Yes, No), choose(isOpen, "Upgrade: websocket", "a request without Upgrade, or an HTTP/1.0 request")
		}}
	r, err := g.perform(ctx, x)
	if err := g.conclude(x, r, err); err != nil {
		return err
	}
	if r.value != Yes {
		return examineScheme(ctx, g, nil)
	}
	ws := r.outcome.WebSocket
	g.Add(Detail(NewFact("websocket.subprotocol", choose(ws.Subprotocol == "pathcheck", Kept, Dropped), "pathcheck", ws.Subprotocol)))
	if err := examineScheme(ctx, g, ws.Handshake); err != nil {
		return err
	}
	sent := "messages of up to " + sizeText(largeMessage)
	return g.find(ctx, experiment{fact: "websocket.messages", sent: sent,
		send: func(ctx context.Context, _ *wire.Request) (*wire.Response, error) {
			a, err := g.openWebSocket(ctx)
			if err == nil && a.WebSocket != nil && a.WebSocket.Lost != nil {
				a.Proven = false // an error can also close a WebSocket, so that a lost message is like a refusal
			}
			return a, err
		},
		read: func(o Outcome) (string, string) {
			if o.WebSocket == nil {
				return "", "the WebSocket did not open again"
			}
			return Kept, sent
		},
		refused: func(o Outcome) (string, string) {
			switch {
			case o.Response == nil || o.WebSocket == nil:
				return "", "the WebSocket did not open again: " + describeRefusal(o.Refusal)
			case wire.RefusalOf(o.WebSocket.Lost) == wire.TimedOut:
				return "", "slow path: no such message in time"
			case websocket.CloseStatus(o.WebSocket.Lost) == websocket.StatusTryAgainLater:
				return "", outOfMemory
			}
			return "lost at " + sizeText(o.WebSocket.Size), "no such message: " + wire.RefusalOf(o.WebSocket.Lost)
		}})
}

func sizeText(bytes int) string { return formatSize(bytes) + "B" }

// exchangeMessage sends a string and reads it back. The path may split the string into several frames (RFC 6455, 5.4).
func exchangeMessage(ctx context.Context, c *websocket.Conn, data []byte) error {
	c.SetReadLimit(int64(len(data)))
	if err := c.Write(ctx, websocket.MessageText, data); err != nil {
		return err
	}
	kind, received, err := c.Read(ctx)
	if err == nil && (kind != websocket.MessageText || !bytes.Equal(received, data)) {
		return errors.New("another message")
	}
	return err
}

// openWebSocket opens a WebSocket and exchanges messages. A proxy may write the response to the handshake itself, so that the first message
// also proves that the Echo received the handshake. The library checks the response. The URL is a placeholder: the group knows the address.
func (g *Group) openWebSocket(ctx context.Context) (*wire.Response, error) {
	h := &webSocketHandshake{group: g}
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h}, Subprotocols: []string{"pathcheck"}}
	c, _, err := websocket.Dial(ctx, "ws://echo", options) //nolint:bodyclose // the library closes it
	if c == nil {
		if h.response == nil {
			return nil, err
		}
		if h.response.Status == http.StatusSwitchingProtocols { // clients do not accept the handshake
			h.response.WebSocket = &wire.WebSocket{Subprotocol: h.response.Header.Get("Sec-WebSocket-Protocol"), Size: 100, Lost: err}
		}
		return h.response, nil
	}
	defer func() { _ = c.CloseNow() }() // the connection needs no closing handshake
	a, ws := h.response, &wire.WebSocket{Subprotocol: c.Subprotocol()}
	a.WebSocket = ws
	if g.Known.Controls {
		c.SetReadLimit(wire.MaxBody)
		_, data, err := c.Read(ctx) // the Echo's first message
		if err != nil {
			return nil, err
		}
		ws.Handshake = g.JudgeMessage(a, h.nonce, data)
	}
	for _, ws.Size = range []int{100, largeMessage} {
		if ws.Lost = exchangeMessage(ctx, c, wire.Filler(ws.Size)); ws.Lost != nil {
			break
		}
	}
	if !a.Proven && ws.Size == largeMessage { // only the Echo returns messages
		a.Proven, a.Claims = true, &proof.Claims{}
	}
	return a, nil
}

// webSocketHandshake sends a WebSocket handshake in the same form as other requests, and keeps the response.
type webSocketHandshake struct {
	group    *Group
	nonce    string
	response *wire.Response // nil if there was no response
}

// RoundTrip implements http.RoundTripper. It makes a rejection of the handshake an error, so that the library does not follow redirects.
func (h *webSocketHandshake) RoundTrip(r *http.Request) (*http.Response, error) {
	fields := wire.Fields("Connection", "Upgrade", "Upgrade", "websocket")
	for _, name := range []string{"Sec-WebSocket-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol"} {
		fields = append(fields, wire.Field{Name: name, Value: r.Header.Get(name)})
	}
	path := "/-/ws"
	if h.group.Known.Controls {
		path += "?echo.handshake=true"
	}
	s, err := h.group.Open(r.Context(), &wire.Request{Path: path, Fields: fields})
	if s != nil {
		h.nonce = s.Nonce
	}
	if err != nil {
		return nil, err
	}
	response, a, err := h.group.ReadHeader(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	h.response = a
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(errors.New("the handshake is refused"), s.Close())
	}
	s.Allow(4 * largeMessage)
	response.Body = bufferedStream{s}
	return response, nil
}

// bufferedStream is a stream whose reader may already have buffered data that follows the header.
type bufferedStream struct{ *wire.Stream }

// Read implements io.Reader. It replaces io.EOF, which the library would interpret as the end of a message.
func (s bufferedStream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// examineScheme determines which scheme proxies report for a handshake that the Echo describes. If there is none, it sends a handshake to a
// path at which the Echo describes requests. Only proxies treat this request as a handshake.
func examineScheme(ctx context.Context, g *Group, handshake *wire.Description) error {
	x := experiment{fact: "websocket.proto", sent: "a WebSocket handshake", read: described(decideScheme), probe: wire.Request{Path: PlainPath,
		Fields: wire.Fields("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
			"Sec-WebSocket-Key", "cGF0aGNoZWNrcGF0aGNoZQ==", "Origin", g.Scheme+"://"+g.Host)}}
	if handshake != nil {
		value, received := decideScheme(handshake)
		return g.conclude(x, result{value: value, received: received}, nil)
	}
	if reason := Descriptions(g.Known); reason != "" {
		g.Skip(x.fact, reason)
		return nil
	}
	return g.find(ctx, x)
}

// decideScheme returns the scheme that proxies report for a handshake.
func decideScheme(e *wire.Description) (value, received string) {
	for _, header := range []string{"X-Forwarded-Proto", "Forwarded"} {
		values := e.Reported(header, "proto")
		received = header + ": " + strings.Join(e.Values(header), "; ")
		switch {
		case slices.ContainsFunc(e.Values(header), isRedacted):
			return "", "the Echo redacts " + header
		case len(values) > 1 && header != "Forwarded": // Forwarded is a list by design
			return "list", received
		case len(values) > 0 && slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(values[0])):
			return strings.ToLower(values[0]), received
		case len(values) > 0:
			return "another", received
		}
	}
	return "not reported", ""
}
