package websocket

import (
	"fmt"
	"io"
	"testing"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/transport"
)

func TestCloseFor(t *testing.T) {
	for _, c := range []struct {
		err   error
		code  websocket.StatusCode
		limit string
	}{
		{websocket.ErrMessageTooBig, websocket.StatusMessageTooBig, LimitMessage},
		{errMessageMemory, websocket.StatusTryAgainLater, transport.LimitMemory},
		{errNotUTF8, websocket.StatusInvalidFramePayloadData, ""},
		{io.ErrUnexpectedEOF, websocket.StatusProtocolError, ""},
		{websocket.CloseError{Code: websocket.StatusMessageTooBig}, websocket.StatusProtocolError, ""}, // the library has already responded
		{websocket.CloseError{Code: websocket.StatusTryAgainLater}, websocket.StatusProtocolError, ""},
	} {
		code, reason, limit := closeFor(fmt.Errorf("reading: %w", c.err))
		if code != c.code || limit != c.limit || len(reason) > 123 {
			t.Errorf("%v: closes with %d %q and counts %q, want %d and %q", c.err, code, reason, limit, c.code, c.limit)
		}
	}
}
