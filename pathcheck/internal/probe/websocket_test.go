package probe

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// hijackedResponse is a response writer that records its connection when the handshake hijacks the connection.
type hijackedResponse struct {
	http.ResponseWriter
	connection net.Conn
}

// Hijack implements http.Hijacker.
func (r *hijackedResponse) Hijack() (c net.Conn, buffered *bufio.ReadWriter, err error) {
	r.connection, buffered, err = http.NewResponseController(r.ResponseWriter).Hijack()
	return r.connection, buffered, err
}

// sending returns a WebSocket server that sends only the given frames, and ignores what it receives.
func sending(frames string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hijacked := &hijackedResponse{ResponseWriter: w}
		c, err := websocket.Accept(hijacked, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		go func() {
			_, _ = io.WriteString(hijacked.connection, frames) // the client may have closed the connection already
			if tcp, ok := hijacked.connection.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // if this fails, so does the client
			}
		}()
		_, _ = io.Copy(io.Discard, hijacked.connection) // closing the connection with unread data would reset it
	})
}

func handshakeWith(t *testing.T, server http.Handler) *webSocketHandshake {
	t.Helper()
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	target, err := wire.ParseTarget(listening.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return &webSocketHandshake{group: &Group{Known: &Known{}, Client: &wire.Client{Target: target, Limits: wire.NewLimits()}}}
}

func dialWith(t *testing.T, h *webSocketHandshake) (*websocket.Conn, error) {
	t.Helper()
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: h}}
	c, _, err := websocket.Dial(t.Context(), "ws://echo", options) //nolint:bodyclose // the library closes it
	return c, err
}

// TestExchangeMessage reads messages that arrive in different forms (RFC 6455, 5.4).
func TestExchangeMessage(t *testing.T) {
	for name, c := range map[string]struct {
		frames string
		kept   bool
	}{
		"one frame":             {"\x81\x02ab", true},
		"two frames":            {"\x01\x01a\x80\x01b", true},
		"a ping between":        {"\x01\x01a\x89\x03abc\x80\x01b", true},
		"of bytes":              {"\x82\x02ab", false},
		"longer":                {"\x81\x03abc", false},
		"more than a run reads": {strings.Repeat("\x89\x7d"+strings.Repeat("x", 125), 10_000) + "\x81\x02ab", false},
	} {
		h := handshakeWith(t, sending(c.frames))
		connection, err := dialWith(t, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := exchangeMessage(t.Context(), connection, []byte("ab")); (err == nil) != c.kept {
			t.Errorf("%s: %v", name, err)
		}
		_ = connection.CloseNow()
		if open := h.group.Limits.Taken(); open != 0 {
			t.Errorf("%s: %d connections are open", name, open)
		}
	}
}

// TestWebSocketHandshake_redirect checks that a redirect is returned as the response, and is not followed.
func TestWebSocketHandshake_redirect(t *testing.T) {
	var received atomic.Int64
	h := handshakeWith(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Add(1)
		http.Redirect(w, r, "/login", http.StatusFound)
	}))
	_, err := dialWith(t, h)
	if err == nil || h.response == nil || h.response.Status != http.StatusFound || received.Load() != 1 {
		t.Errorf("after %d requests the response is %+v, %v", received.Load(), h.response, err)
	}
	if open := h.group.Limits.Taken(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
}
