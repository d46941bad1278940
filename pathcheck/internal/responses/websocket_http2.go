package responses

import (
	"context"
	"strconv"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// examineExtendedConnect opens a WebSocket over HTTP/2 (RFC 8441) if the path announces support for it.
func examineExtendedConnect(ctx context.Context, g *run.Group) error {
	announced, a, err := g.ExtendedConnect(ctx, &wire.Request{Path: "/-/ws", Fields: wire.Fields("Sec-WebSocket-Version", "13")})
	if ended := run.Over(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideExtendedConnect(announced, a, err))
	if announced && (a == nil || !a.Proven) {
		return g.Confirm(ctx)
	}
	return nil
}

func decideExtendedConnect(announced bool, a *wire.Response, err error) fact.Fact {
	const name, sent = "websocket.http2", "a WebSocket over HTTP/2 (RFC 8441)"
	const announcement = "SETTINGS_ENABLE_CONNECT_PROTOCOL of 1"
	switch {
	case !announced && err != nil:
		return fact.New(name, fact.No, sent, "nothing: "+err.Error())
	case !announced:
		return fact.New(name, fact.No, sent, "no "+announcement)
	case err != nil:
		return fact.Refused(name, sent, wire.RefusalOf(err))
	case !a.Proven:
		return fact.Refused(name, sent, a.Refusal())
	case a.Status/100 != 2:
		return fact.New(name, "refused "+strconv.Itoa(a.Status), sent, announcement+", then "+strconv.Itoa(a.Status)+" from the Echo")
	}
	return fact.New(name, fact.Yes, sent, announcement+", and a WebSocket")
}
