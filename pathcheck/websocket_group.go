package pathcheck

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/coder/websocket"
)

// largeMessage is the size of the larger message that is sent through a WebSocket.
const largeMessage = 256 << 10

// examineWebSocket opens a WebSocket and sends messages.
func examineWebSocket(ctx context.Context, g *group) error {
	h := &webSocketHandshake{group: g}
	connection, failed := h.dial(ctx)
	o, err := g.outcome(ctx, h.answer, h.err)
	if err == nil || o.refusal != "" {
		g.add(decideUpgrade(o))
	}
	if connection != nil {
		defer func() { _ = connection.CloseNow() }() // it needs no closing handshake
	}
	if err != nil || o.refusal != "" || o.status != http.StatusSwitchingProtocols {
		return err
	}
	g.add(decideSubprotocol(o.header.Get("Sec-WebSocket-Protocol")))
	for _, size := range []int{100, largeMessage} {
		if failed == nil {
			failed = exchangeMessage(ctx, connection, filler(size))
		}
		if failed != nil {
			if ended := g.interrupted(ctx, failed); ended != nil {
				return ended
			}
			g.add(decideMessages(size, failed))
			return nil
		}
	}
	g.add(decideMessages(largeMessage, nil))
	return nil
}

func decideUpgrade(o outcome) Fact {
	const name, sent, meaning = "websocket.upgrade", "Upgrade: websocket", "whether a connection can become a WebSocket"
	switch {
	case o.refusal != "":
		return refusedFact(name, sent, o.refusal, meaning)
	case o.status == http.StatusSwitchingProtocols:
		return newFact(name, yes, sent, sent, meaning)
	}
	return newFact(name, no, sent, "a request without Upgrade, or one of HTTP/1.0", meaning+"; the way does not pass the header on")
}

func decideSubprotocol(received string) Fact {
	const name, sent, meaning = "websocket.subprotocol", "pathcheck", "whether the sub-protocol of a WebSocket arrives"
	if received == sent {
		return detail(newFact(name, kept, sent, received, meaning))
	}
	return detail(newFact(name, dropped, sent, received, meaning))
}

func decideMessages(size int, err error) Fact {
	const name, meaning = "websocket.messages", "whether messages come back as they were sent, short and long ones"
	sent := "messages of up to " + sizeText(size)
	if err == nil {
		return newFact(name, kept, sent, sent, meaning)
	}
	return newFact(name, "lost at "+sizeText(size), sent, "no such message: "+refusalOf(err), meaning)
}

func sizeText(bytes int) string { return size(bytes) + "B" }

// exchangeMessage sends a text and reads it back. The path may have made several frames of it (RFC 6455, 5.4).
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
