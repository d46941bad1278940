package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// largeMessage is the size of the larger WebSocket message.
const largeMessage = 256 << 10

// ExamineWebSocket examines WebSockets over HTTP/1.1 and HTTP/2.
func ExamineWebSocket(ctx context.Context, g *Group) error {
	handshake, err := examineUpgrade(ctx, g)
	if err != nil {
		return err
	}
	if err := examineScheme(ctx, g, handshake); err != nil {
		return err
	}
	return examineExtendedConnect(ctx, g)
}

// examineUpgrade opens a WebSocket and sends messages. It returns the handshake that the Echo received, if known.
func examineUpgrade(ctx context.Context, g *Group) (*wire.Description, error) {
	h := &webSocketHandshake{group: g}
	connection, failed := h.dial(ctx)
	o, err := g.Outcome(ctx, h.response, h.err)
	if err == nil || o.Refusal != "" {
		g.Add(decideUpgrade(o))
	}
	if connection != nil {
		defer func() { _ = connection.CloseNow() }() // the connection needs no closing handshake
	}
	if err != nil || o.Refusal != "" || o.Status != http.StatusSwitchingProtocols {
		return nil, err
	}
	subprotocol, value := o.Header.Get("Sec-WebSocket-Protocol"), Dropped
	if subprotocol == "pathcheck" {
		value = Kept
	}
	g.Add(Detail(NewFact("websocket.subprotocol", value, "pathcheck", subprotocol)))
	var handshake *wire.Description
	if failed == nil && strings.Contains(o.Header.Get("X-Echo-Applied"), "handshake") {
		var data []byte
		connection.SetReadLimit(wire.MaxBody)
		_, data, failed = connection.Read(ctx) // the Echo's first message
		_, description := proof.Split(data)
		handshake = wire.ParseDescription(description)
	}
	for _, size := range []int{100, largeMessage} {
		if failed == nil {
			failed = exchangeMessage(ctx, connection, wire.Filler(size))
		}
		if failed != nil {
			if ended := g.Interrupted(ctx, failed); ended != nil {
				return handshake, ended
			}
			g.Add(decideMessages(size, failed))
			return handshake, nil
		}
	}
	g.Add(decideMessages(largeMessage, nil))
	return handshake, nil
}

func decideUpgrade(o Outcome) Fact {
	const name, sent = "websocket.upgrade", "Upgrade: websocket"
	switch {
	case o.Refusal != "":
		return refusedFact(name, sent, o.Refusal)
	case o.Status == http.StatusSwitchingProtocols:
		return NewFact(name, Yes, sent, sent)
	}
	return NewFact(name, No, sent, "a request without Upgrade, or an HTTP/1.0 request")
}

func decideMessages(size int, err error) Fact {
	const name = "websocket.messages"
	sent := "messages of up to " + sizeText(size)
	if err == nil {
		return NewFact(name, Kept, sent, sent)
	}
	return NewFact(name, "lost at "+sizeText(size), sent, "no such message: "+wire.RefusalOf(err))
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

// webSocketHandshake sends a WebSocket handshake in the same form as other requests, and keeps the response.
type webSocketHandshake struct {
	group    *Group
	response *wire.Response // nil if there was no response
	err      error          // why there was no response
}

// dial opens a WebSocket. The library checks the response. The URL is a placeholder, because the group knows the address.
func (h *webSocketHandshake) dial(ctx context.Context) (*websocket.Conn, error) {
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h}, Subprotocols: []string{"pathcheck"}}
	c, _, err := websocket.Dial(ctx, "ws://echo", options) //nolint:bodyclose // the library closes it
	return c, err
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

// examineExtendedConnect opens a WebSocket over HTTP/2 (RFC 8441) if the path announces support for it.
func examineExtendedConnect(ctx context.Context, g *Group) error {
	announced, a, err := g.ExtendedConnect(ctx, &wire.Request{Path: "/-/ws", Fields: wire.Fields("Sec-WebSocket-Version", "13")})
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideExtendedConnect(announced, a, err))
	if announced && (a == nil || !a.Proven) {
		return g.Confirm(ctx)
	}
	return nil
}

func decideExtendedConnect(announced bool, a *wire.Response, err error) Fact {
	const name, sent = "websocket.http2", "a WebSocket over HTTP/2 (RFC 8441)"
	const announcement = "SETTINGS_ENABLE_CONNECT_PROTOCOL of 1"
	switch {
	case !announced && err != nil:
		return NewFact(name, No, sent, "nothing: "+err.Error())
	case !announced:
		return NewFact(name, No, sent, "no "+announcement)
	case err != nil:
		return refusedFact(name, sent, wire.RefusalOf(err))
	case !a.Proven:
		return refusedFact(name, sent, a.Refusal())
	case a.Status/100 != 2:
		return NewFact(name, "refused "+strconv.Itoa(a.Status), sent, announcement+", then "+strconv.Itoa(a.Status)+" from the Echo")
	}
	return NewFact(name, Yes, sent, announcement+", and a WebSocket")
}

// examineScheme determines which scheme proxies report for a handshake. It uses the handshake that the Echo received, if known. Otherwise,
// it sends a handshake to a path at which the Echo describes requests. Only proxies treat this request as a handshake.
func examineScheme(ctx context.Context, g *Group, received *wire.Description) error {
	if received != nil {
		g.Add(decideScheme(Outcome{Response: &wire.Response{Description: received}}))
		return nil
	}
	if reason := Descriptions(g.Known); reason != "" {
		g.Skip("websocket.proto", reason)
		return nil
	}
	fields := wire.Fields("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "cGF0aGNoZWNrcGF0aGNoZQ==", "Origin", g.Scheme+"://"+g.Host)
	return g.Examine(ctx, &wire.Request{Path: PlainPath, Fields: fields}, decideScheme)
}

// decideScheme returns the scheme that proxies report for a handshake.
func decideScheme(o Outcome) Fact {
	const name, sent = "websocket.proto", "a WebSocket handshake"
	e := o.Described()
	if e == nil {
		return refusedFact(name, sent, o.Refusal)
	}
	for _, header := range []string{"X-Forwarded-Proto", "Forwarded"} {
		values := e.Reported(header, "proto")
		received := header + ": " + strings.Join(e.Values(header), "; ")
		switch {
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
