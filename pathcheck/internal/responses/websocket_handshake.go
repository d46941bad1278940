package responses

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// webSocketHandshake sends a WebSocket handshake in the same form as other requests, and keeps the response.
type webSocketHandshake struct {
	group    *run.Group
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
	response, interim, err := s.ReadHeader()
	if err != nil {
		h.err = err
		return nil, errors.Join(err, s.Close())
	}
	h.response = s.NewResponse(response, interim)
	h.group.Judge(h.response, s.Nonce)
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
