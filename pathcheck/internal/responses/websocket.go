package responses

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// largeMessage is the size of the larger WebSocket message.
const largeMessage = 256 << 10

func ExamineWebSocket(ctx context.Context, g *run.Group) error {
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
func examineUpgrade(ctx context.Context, g *run.Group) (*wire.Description, error) {
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
	g.Add(decideSubprotocol(o.Header.Get("Sec-WebSocket-Protocol")))
	var handshake *wire.Description
	if failed == nil && strings.Contains(o.Header.Get("X-Echo-Applied"), "handshake") {
		handshake, failed = readHandshake(ctx, connection)
	}
	return handshake, examineMessages(ctx, g, connection, failed)
}

// examineMessages sends messages, unless the WebSocket has already failed.
func examineMessages(ctx context.Context, g *run.Group, c *websocket.Conn, failed error) error {
	for _, size := range []int{100, largeMessage} {
		if failed == nil {
			failed = exchangeMessage(ctx, c, wire.Filler(size))
		}
		if failed != nil {
			if ended := g.Interrupted(ctx, failed); ended != nil {
				return ended
			}
			g.Add(decideMessages(size, failed))
			return nil
		}
	}
	g.Add(decideMessages(largeMessage, nil))
	return nil
}

// readHandshake reads the Echo's first message, which describes the handshake.
func readHandshake(ctx context.Context, c *websocket.Conn) (*wire.Description, error) {
	c.SetReadLimit(wire.MaxBody)
	_, data, err := c.Read(ctx)
	return wire.ParseDescription(data), err
}

func decideUpgrade(o run.Outcome) fact.Fact {
	const name, sent = "websocket.upgrade", "Upgrade: websocket"
	switch {
	case o.Refusal != "":
		return fact.Refused(name, sent, o.Refusal)
	case o.Status == http.StatusSwitchingProtocols:
		return fact.New(name, fact.Yes, sent, sent)
	}
	return fact.New(name, fact.No, sent, "a request without Upgrade, or an HTTP/1.0 request")
}

func decideSubprotocol(received string) fact.Fact {
	const name, sent = "websocket.subprotocol", "pathcheck"
	if received == sent {
		return fact.Detail(fact.New(name, fact.Kept, sent, received))
	}
	return fact.Detail(fact.New(name, fact.Dropped, sent, received))
}

func decideMessages(size int, err error) fact.Fact {
	const name = "websocket.messages"
	sent := "messages of up to " + sizeText(size)
	if err == nil {
		return fact.New(name, fact.Kept, sent, sent)
	}
	return fact.New(name, "lost at "+sizeText(size), sent, "no such message: "+wire.RefusalOf(err))
}

func sizeText(bytes int) string { return fact.Size(bytes) + "B" }

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
