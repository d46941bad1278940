package pathcheck

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// TestARequestOfHTTP2IsSentOnce sends requests to servers that ask for them again and again.
func TestARequestOfHTTP2IsSentOnce(t *testing.T) {
	for name, refuse := range map[string]func(*http2.Framer, uint32) error{
		"the server goes away":   func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"the stream is refused":  func(f *http2.Framer, id uint32) error { return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"the connection is lost": func(*http2.Framer, uint32) error { return nil },
	} {
		var received atomic.Int64
		target, err := parseTarget(listen(t, refusing(&received, refuse)), "")
		if err != nil {
			t.Fatal(err)
		}
		c := &client{target: target, limits: newLimits()}
		if _, err := c.doHTTP2(t.Context(), &request{path: "/pathcheck"}); !errors.Is(err, errNoHTTP2) || received.Load() != 1 || c.limits.taken() > 0 {
			t.Errorf("%s: %d requests, %d places are taken, %v", name, received.Load(), c.limits.taken(), err)
		}
	}
}

// refusing returns a server of HTTP/2 that counts requests, refuses each, and closes the connection.
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
				_ = refuse(framer, header.StreamID) // the client may have gone
				return
			}
		}
	}
}
