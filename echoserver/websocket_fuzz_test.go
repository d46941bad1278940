package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordedConnection is a connection whose other side has sent all that it sends, a few bytes at a time.
type recordedConnection struct {
	net.Conn
	sent     []byte
	step     int
	received bytes.Buffer
	closed   bool
}

func (c *recordedConnection) Read(p []byte) (int, error) {
	if len(c.sent) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.sent[:min(c.step, len(c.sent))])
	c.sent = c.sent[n:]
	return n, nil
}

func (c *recordedConnection) Write(p []byte) (int, error)      { return c.received.Write(p) }
func (c *recordedConnection) SetDeadline(time.Time) error      { return nil }
func (c *recordedConnection) SetReadDeadline(time.Time) error  { return nil }
func (c *recordedConnection) SetWriteDeadline(time.Time) error { return nil }

func (c *recordedConnection) Close() error {
	c.closed = true
	return nil
}

// recordedResponse is a response whose connection is recorded.
type recordedResponse struct {
	http.ResponseWriter
	connection *connection
}

// Hijack implements http.Hijacker.
func (r recordedResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	buffered := bufio.NewReadWriter(bufio.NewReader(r.connection), bufio.NewWriter(r.connection))
	return r.connection, buffered, r.connection.SetDeadline(time.Time{})
}

// FuzzWebSocket sends anything: the server responds with valid frames only and closes with a close frame. It holds no memory
// afterwards. The size of packets changes nothing.
func FuzzWebSocket(f *testing.F) {
	for _, c := range slices.Concat(framing()[:8], pings(), reservedBitsSet(), fragmentation(), closes(), limits()[1:3]) {
		if sent := strings.Join(c.sent, ""); len(sent) < 30_000 {
			f.Add([]byte(sent), 1+len(sent)%7)
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte, step int) {
		whole, _ := recordedSession(t, sent, max(1, len(sent)))
		if parts, _ := recordedSession(t, sent, 1+(step&0x7FFF)%5000); !slices.Equal(parts, whole) {
			t.Errorf("in parts: %.200q, at once: %.200q", parts, whole)
		}
	})
}

// recordedSession returns the messages and control frames that a session sends, and how many bytes it has processed.
func recordedSession(t *testing.T, sent []byte, step int) (frames []string, processed int64) {
	t.Helper()
	h, recorded := handlerOf(t), &recordedConnection{sent: sent, step: step}
	accepted, _ := accept(recorded, connectionCost, boundsOf(h.metrics), func() {})
	r := httptest.NewRequest(http.MethodGet, "/-/ws", http.NoBody).WithContext(withConnection(t.Context(), accepted))
	r.Header = http.Header{"Upgrade": {"websocket"}, "Connection": {"Upgrade"},
		"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"}}
	h.ServeHTTP(recordedResponse{httptest.NewRecorder(), accepted}, r)
	if held := h.budget.connections.used.Load() + h.budget.requests.used.Load(); !recorded.closed || held != 0 {
		t.Errorf("closed is %t, %d bytes are held", recorded.closed, held)
	}
	for recorded.received.Len() > 0 {
		if len(frames) > 0 && strings.HasPrefix(frames[len(frames)-1], "close") {
			t.Errorf("%d bytes follow the close frame", recorded.received.Len())
		}
		opcode, payload, err := readMessage(&recorded.received)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, asText(opcode, payload))
	}
	if len(frames) == 0 || !strings.HasPrefix(frames[len(frames)-1], "close") {
		t.Errorf("the frames are %.200q, the last one is no close frame", frames)
	}
	return frames, int64(len(sent) - len(recorded.sent))
}
