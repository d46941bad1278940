package pathcheck

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// webSocketHandshake sends the handshake of a WebSocket as other requests are sent, and keeps the response.
type webSocketHandshake struct {
	group  *group
	answer *answer // nil if there was no response
	err    error   // why there was none
}

// dial opens a WebSocket. The library checks the response. The group knows the address, so that the URL means nothing.
func (h *webSocketHandshake) dial(ctx context.Context) (*websocket.Conn, error) {
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h}, Subprotocols: []string{"pathcheck"}}
	c, _, err := websocket.Dial(ctx, "ws://echo", options) //nolint:bodyclose // the library closes it
	return c, err
}

// RoundTrip implements http.RoundTripper. It returns no response that refuses the handshake, so that redirects are not followed.
func (h *webSocketHandshake) RoundTrip(r *http.Request) (*http.Response, error) {
	fields := []field{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}
	for _, name := range []string{"Sec-WebSocket-Version", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol"} {
		fields = append(fields, field{name, r.Header.Get(name)})
	}
	s, err := h.group.open(r.Context(), &request{path: "/-/ws", fields: fields})
	if err != nil {
		h.err = err
		return nil, err
	}
	response, interim, err := s.readHeader()
	if err != nil {
		h.err = err
		return nil, errors.Join(err, s.Close())
	}
	h.answer = s.newAnswer(response, interim)
	h.group.judge(h.answer, s.nonce)
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(errors.New("the handshake is refused"), s.Close())
	}
	s.allow(4 * largeMessage)
	response.Body = bufferedStream{s}
	return response, nil
}

// bufferedStream is a stream whose reader may have read more than the header.
type bufferedStream struct{ *stream }

// Read implements io.Reader. The library would take io.EOF for the end of a message.
func (s bufferedStream) Read(p []byte) (int, error) {
	n, err := s.reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
