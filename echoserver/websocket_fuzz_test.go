package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
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

// FuzzWebSocket sends anything: the server responds with valid frames only, the last of which is the close frame that it reports, and
// holds no memory afterwards. The size of packets changes nothing.
func FuzzWebSocket(f *testing.F) {
	for _, c := range slices.Concat(framing()[:8], pings(), reservedBitsSet(), fragmentation(), closes(), limits()[1:3]) {
		if sent := strings.Join(c.sent, ""); len(sent) < 30_000 {
			f.Add([]byte(sent), 1+len(sent)%7)
		}
	}
	f.Fuzz(func(t *testing.T, sent []byte, step int) {
		whole := recordedSession(t, sent, max(1, len(sent)))
		if parts := recordedSession(t, sent, 1+(step&0x7FFF)%5000); !slices.Equal(parts, whole) {
			t.Errorf("in parts: %.200q, at once: %.200q", parts, whole)
		}
	})
}

// recordedSession returns the frames that a session sends.
func recordedSession(t *testing.T, sent []byte, step int) (frames []string) {
	t.Helper()
	connection, memory := &recordedConnection{sent: sent, step: step}, &heldBytes{limit: 2 * maxMessage}
	closing := newWebSocketSession(connection, bufio.NewReader(connection), nil, memory.memory()).run(nil)
	if !connection.closed || memory.held != 0 {
		t.Errorf("closed is %t, %d bytes are held", connection.closed, memory.held)
	}
	for connection.received.Len() > 0 {
		if len(frames) > 0 && strings.HasPrefix(frames[len(frames)-1], "close") {
			t.Errorf("%d bytes follow the close frame", connection.received.Len())
		}
		opcode, payload, err := readServerFrame(&connection.received)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, asText(opcode, payload))
	}
	if closes := len(frames) > 0 && strings.HasPrefix(frames[len(frames)-1], "close"); closes != (closing != nil) {
		t.Errorf("the frames are %.200q, but the session reports %v", frames, closing)
	}
	return frames
}
