package probe

import (
	"bytes"
	"cmp"
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
		probe: func() *wire.Request { return &wire.Request{Path: "/-/ws"} },
		send:  func(ctx context.Context, _ *wire.Request) (*wire.Response, error) { return g.openWebSocket(ctx) },
		read: func(o Outcome) (string, string) {
			if o.WebSocket != nil {
				return Yes, "Upgrade: websocket"
			}
			return No, "a request without Upgrade, or an HTTP/1.0 request"
		}}
	r, err := g.perform(ctx, x)
	if err != nil {
		return err
	}
	g.conclude(x, r)
	if r.value != Yes {
		return examineScheme(ctx, g)
	}
	ws := r.outcome.WebSocket
	value := Dropped
	if ws.Subprotocol == "pathcheck" {
		value = Kept
	}
	g.Add(Detail(NewFact("websocket.subprotocol", value, "pathcheck", ws.Subprotocol)))
	if ws.Handshake == nil {
		err = examineScheme(ctx, g)
	} else {
		g.Add(decideScheme(ws.Handshake))
	}
	if err != nil {
		return err
	}
	x.fact, x.sent = "websocket.messages", "messages of up to "+sizeText(largeMessage)
	x.read = func(o Outcome) (string, string) {
		switch {
		case o.WebSocket == nil:
			return "", "the WebSocket did not open again"
		case o.WebSocket.Lost != nil && wire.RefusalOf(o.WebSocket.Lost) == wire.TimedOut:
			return "", "slow path: no such message in time"
		case o.WebSocket.Lost != nil:
			return "lost at " + sizeText(o.WebSocket.Size), "no such message: " + wire.RefusalOf(o.WebSocket.Lost)
		}
		return Kept, x.sent
	}
	return g.examineMessages(ctx, x)
}

// examineMessages opens more WebSockets if a message was lost, because an error can also close a WebSocket.
func (g *Group) examineMessages(ctx context.Context, x experiment) error {
	lost := map[string]int{}
	var last result
	for range maxPairs {
		o, err := g.ask(ctx, x.send, x.probe())
		if err != nil {
			return err
		}
		if !o.Arrived() {
			continue
		}
		if last.value, last.received = x.read(o); last.value == "" {
			break
		}
		if lost[last.value]++; last.value == Kept && lost[Kept] == 2 || last.value != Kept && lost[last.value] >= g.Engine.needed(1) && lost[Kept] == 0 {
			g.conclude(x, last)
			return nil
		}
	}
	g.Unknown(x.fact, cmp.Or(describeCounts(lost), "errors"))
	return nil
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
// also proves that the Echo has received the handshake. The library checks the response. The URL is a placeholder, because the group knows
// the address.
func (g *Group) openWebSocket(ctx context.Context) (*wire.Response, error) {
	h := &webSocketHandshake{group: g}
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h}, Subprotocols: []string{"pathcheck"}}
	c, _, err := websocket.Dial(ctx, "ws://echo", options) //nolint:bodyclose // the library closes it
	if c == nil {
		if h.response == nil {
			return nil, cmp.Or(h.err, err)
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
	err      error          // why there was no response
}

// RoundTrip implements http.RoundTripper. If the response rejects the handshake, RoundTrip returns an error so that the library does not
// follow redirects.
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
		h.err = err
		return nil, err
	}
	response, a, err := h.group.ReadHeader(s)
	if err != nil {
		h.err = err
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

// examineScheme determines which scheme proxies report for a handshake. It sends a handshake to a path at which the Echo describes requests.
// Only proxies treat this request as a handshake.
func examineScheme(ctx context.Context, g *Group) error {
	const name = "websocket.proto"
	if reason := Descriptions(g.Known); reason != "" {
		g.Skip(name, reason)
		return nil
	}
	fields := wire.Fields("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "cGF0aGNoZWNrcGF0aGNoZQ==", "Origin", g.Scheme+"://"+g.Host)
	return g.find(ctx, experiment{fact: name, sent: "a WebSocket handshake",
		probe: func() *wire.Request { return &wire.Request{Path: PlainPath, Fields: fields} },
		read: described(func(e *wire.Description) (string, string) {
			f := decideScheme(e)
			return f.Value, f.Received
		})})
}

// decideScheme returns the scheme that proxies report for a handshake.
func decideScheme(e *wire.Description) Fact {
	const name, sent = "websocket.proto", "a WebSocket handshake"
	for _, header := range []string{"X-Forwarded-Proto", "Forwarded"} {
		values := e.Reported(header, "proto")
		received := header + ": " + strings.Join(e.Values(header), "; ")
		switch {
		case slices.ContainsFunc(e.Values(header), isRedacted):
			return unknown(name, "the Echo redacts "+header)
		case len(values) > 1 && header != "Forwarded": // Forwarded is a list by design
			return NewFact(name, "list", sent, received)
		case len(values) > 0 && slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(values[0])):
			return NewFact(name, strings.ToLower(values[0]), sent, received)
		case len(values) > 0:
			return NewFact(name, "another", sent, received)
		}
	}
	return NewFact(name, "not reported", sent, "")
}
