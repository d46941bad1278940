package responses

import (
	"context"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// examineScheme determines which scheme proxies report for a handshake. It uses the handshake that the Echo received, if known. Otherwise,
// it sends a handshake to a path at which the Echo describes requests. Only proxies treat this request as a handshake.
func examineScheme(ctx context.Context, g *run.Group, received *wire.Description) error {
	if received != nil {
		g.Add(decideScheme(run.Outcome{Response: &wire.Response{Description: received}}))
		return nil
	}
	if reason := run.Descriptions(g.Known); reason != "" {
		g.Skip("websocket.proto", reason)
		return nil
	}
	fields := wire.Fields("Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "cGF0aGNoZWNrcGF0aGNoZQ==", "Origin", g.Scheme+"://"+g.Host)
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath, Fields: fields}, decideScheme)
}

// decideScheme returns the scheme that proxies report for a handshake.
func decideScheme(o run.Outcome) fact.Fact {
	const name, sent = "websocket.proto", "a WebSocket handshake"
	e := o.Described()
	if e == nil {
		return fact.Refused(name, sent, o.Refusal)
	}
	for _, header := range []string{"X-Forwarded-Proto", "Forwarded"} {
		values := e.Reported(header, "proto")
		received := header + ": " + strings.Join(e.Values(header), "; ")
		switch {
		case len(values) > 1 && header != "Forwarded": // Forwarded is a list by design
			return fact.New(name, "list", sent, received)
		case len(values) > 0 && slices.Contains([]string{"http", "https", "ws", "wss"}, strings.ToLower(values[0])):
			return fact.New(name, strings.ToLower(values[0]), sent, received)
		case len(values) > 0:
			return fact.New(name, "another", sent, received)
		}
	}
	return fact.New(name, "not reported", sent, "")
}
