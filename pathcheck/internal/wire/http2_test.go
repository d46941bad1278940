package wire

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestClient_DoHTTP2_sendsOnce sends requests to servers that repeatedly ask for a retry.
func TestClient_DoHTTP2_sendsOnce(t *testing.T) {
	for name, refuse := range map[string]func(*http2.Framer, uint32) error{
		"the server goes away":   func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"the stream is refused":  func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"the connection is lost": func(*http2.Framer, uint32) error { return nil },
	} {
		var received atomic.Int64
		target, err := ParseTarget(echotest.Serve(t, refusing(&received, refuse)), "")
		if err != nil {
			t.Fatal(err)
		}
		c := &Client{Target: target, Limits: NewLimits()}
		if _, err := c.DoHTTP2(t.Context(), &Request{Path: "/pathcheck"}); !errors.Is(err, ErrNoHTTP2) || received.Load() != 1 ||
			c.Limits.Taken() > 0 {
			t.Errorf("%s: %d requests, %d places are taken, %v", name, received.Load(), c.Limits.Taken(), err)
		}
	}
}

// refusing returns an HTTP/2 server that counts requests, refuses each one, and closes the connection.
func refusing(received *atomic.Int64, refuse func(*http2.Framer, uint32) error) func(net.Conn) {
	return func(connection net.Conn) {
		framer := http2.NewFramer(connection, connection)
		if _, err := io.ReadFull(connection, make([]byte, len(http2.ClientPreface))); err != nil || framer.WriteSettings() != nil {
			return
		}
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			if header, ok := frame.(*http2.HeadersFrame); ok {
				received.Add(1)
				_ = refuse(framer, header.StreamID) // the client may have disconnected
				return
			}
		}
	}
}
