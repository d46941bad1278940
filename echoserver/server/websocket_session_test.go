package server

import (
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// late is the server's close frame if a client takes too long to send a frame or message.
const late = "close 1008 the message was not received in time"

// TestSession_enforcesDeadlines exceeds the time limits in every state of a session. A client that does not respond to the close frame gets
// another 5 s.
func TestSession_enforcesDeadlines(t *testing.T) {
	const (
		seconds = time.Second
		silent  = "close 1001 nothing was received for 10m20s"
	)
	begun := append([]string{masked(opcodeText, "x")}, slices.Repeat([]string{pingFrame("")}, 9)...)
	slow := append([]string{announced(finalBit|opcodeBinary, 1000, "")}, strings.Split(echotest.Payload(900), "")...)
	for name, c := range map[string]struct {
		sent  []string
		pause time.Duration // how long the client waits after each frame
		takes time.Duration // the expected time from the handshake until the server's close frame
		want  string
	}{
		"nothing":               {nil, 0, 620 * seconds, silent},
		"nothing after a ping":  {[]string{pingFrame("")}, 0, 620 * seconds, silent},
		"pings keep it open":    {slices.Repeat([]string{pingFrame("")}, 3), 619 * seconds, (2*619 + 620) * seconds, silent},
		"messages keep it open": {[]string{textFrame("x"), textFrame("x")}, 619 * seconds, (619 + 620) * seconds, silent},
		"pongs keep it open": {slices.Repeat([]string{masked(finalBit|opcodePong, "")}, 2), 619 * seconds, (619 + 620) * seconds,
			silent},
		"part of a frame at the end":    {[]string{pingFrame(""), "\x81"}, 619 * seconds, (619 + 30) * seconds, late},
		"one byte":                      {[]string{"\x81"}, 0, 30 * seconds, late},
		"part of a header":              {[]string{"\x81\xfe\x00"}, 0, 30 * seconds, late},
		"a header alone":                {[]string{announced(finalBit|opcodeText, 1000, "")}, 0, 30 * seconds, late},
		"part of a frame":               {[]string{announced(finalBit|opcodeText, 1000, "x")}, 0, 30 * seconds, late},
		"part of a message":             {[]string{masked(opcodeText, "x")}, 0, 30 * seconds, late},
		"a message that moves slowly":   {slow, 29 * seconds, 120 * seconds, late},
		"pings do not extend a message": {begun, 20 * seconds, 120 * seconds, late},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			began := time.Now()
			go func() {
				for _, frame := range c.sent {
					_, _ = io.WriteString(client, frame) // the server may have closed the connection already
					select {
					case <-time.After(c.pause):
					case <-t.Context().Done():
						return
					}
				}
			}()
			got := client.next(t)
			for got == "pong " || got == "text x" {
				got = client.next(t)
			}
			if took := time.Since(began); got != c.want || took != c.takes {
				t.Errorf("%s: after %s comes %q, want %q after %s", name, took, got, c.want, c.takes)
			}
			if got := client.next(t); got != "end" || time.Since(began) != c.takes+5*time.Second {
				t.Errorf("%s: the connection ends after %s, %s", name, time.Since(began), got)
			}
			synctest.Wait()
			if h.metrics.webSockets.Load() != 0 || h.metrics.inFlight.Load() != 0 {
				t.Errorf("%s: the WebSocket is counted as open", name)
			}
			if counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "101") != 1 {
				t.Errorf("%s: the counts are %v", name, series(t, h.metrics, "echo_http_requests_total"))
			}
		})
	}
}

// TestSession_closesOnLateFrame sends the handshake together with only the first part of a frame.
func TestSession_closesOnLateFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		client := openRaw(t, listener.Dial(t), "\x81")
		began := time.Now()
		if got := client.next(t); got != late || time.Since(began) != exchange.StallTimeout {
			t.Errorf("after %s comes %q", time.Since(began), got)
		}
	})
}

// TestSession_endsOnLateControlFrame sends only part of a ping. The library then closes the connection without a close frame, because RFC
// 6455 (7.1.7) does not require one.
func TestSession_endsOnLateControlFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		client := openRaw(t, listener.Dial(t), announced(finalBit|opcodePing, 5, "x"))
		began := time.Now()
		if got := client.next(t); got != "end" || time.Since(began) != 5*time.Second {
			t.Errorf("after %s comes %q", time.Since(began), got)
		}
		synctest.Wait()
		if h.metrics.webSockets.Load() != 0 {
			t.Error("the WebSocket is counted as open")
		}
	})
}

// halfClosed is a connection whose sending side can be closed without the client noticing.
type halfClosed struct {
	net.Conn
	closed *atomic.Bool
}

func (c halfClosed) CloseWrite() error {
	c.closed.Store(true)
	return c.SetWriteDeadline(time.Now())
}

// TestSession_keepsReadingAfterClose sends frames that close the WebSocket, but does not close the connection. The server must continue to
// read for a while, so that data from the client does not cause a reset.
func TestSession_keepsReadingAfterClose(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string
		memory int64
		want   string
	}{
		"over the limit": {announced(finalBit|opcodeBinary, 2*maxMessage, echotest.Payload(maxMessage+1)), 2 * maxMessage, "close 1009"},
		"not UTF-8":      {announced(finalBit|opcodeText, maxMessage, strings.Repeat("\xff", firstChunk)), maxMessage, "close 1007"},
		"without memory": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(firstChunk)), firstChunk, "close 1013"},
		"not masked":     {"\x81\x7e\xff\xffx", maxMessage, "close 1002"},
		"a reserved bit": {masked(opcodeText, "x") + announced(finalBit|0x40|opcodeContinuation, 1000, "x"), maxMessage, "close 1002"},
		"a close frame":  {closeFrame(1000, ""), maxMessage, "close 1000"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, c.memory)
			_, listener := serveInMemory(t, h)
			near, far := net.Pipe()
			t.Cleanup(func() { _ = near.Close() })
			var closed atomic.Bool
			listener.Connections <- halfClosed{far, &closed}
			client := openRaw(t, near, c.sent)
			began := time.Now()
			if got := client.next(t); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: got %q", name, got)
			}
			synctest.Wait()
			if !closed.Load() {
				t.Errorf("%s: the server processes what follows", name)
			}
			client.send(t, echotest.Payload(maxMessage))
			if end := client.next(t); end != "end" || time.Since(began) != closeTimeout {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), end)
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: %d bytes are held by %d sessions", name, held, h.metrics.webSockets.Load())
			}
		})
	}
}

// TestSession_dropsIncompleteMessage closes the sending side of the connection in the middle of a message. The incomplete message must not
// be echoed.
func TestSession_dropsIncompleteMessage(t *testing.T) {
	address := serve(t, handlerOf(t)).URL
	for _, sent := range []string{announced(finalBit|opcodeText, 3, ""), announced(finalBit|opcodeText, 3, "ab"), masked(opcodeText, "ab")} {
		connection := echotest.Dial(t, address)
		client := openRaw(t, connection)
		client.send(t, sent)
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := client.all(t); !slices.Equal(got, []string{"close 1002 the frame is not valid"}) {
			t.Errorf("%q: got %q", sent, got)
		}
	}
}

// TestSession_endsIfClientStopsReading stops reading in the middle of an echoed message.
func TestSession_endsIfClientStopsReading(t *testing.T) {
	for name, c := range map[string]struct {
		stop  bool // the server stops immediately
		takes time.Duration
	}{
		"serving":  {false, 30 * time.Second},
		"stopping": {true, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			client.send(t, textFrame("hello"))
			synctest.Wait()
			if c.stop {
				close(h.life.ending)
			}
			<-time.After(c.takes - 1)
			if h.metrics.webSockets.Load() != 1 {
				t.Errorf("%s: the server does not wait until the client reads", name)
			}
			<-time.After(1)
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: the server waits for a client that does not read, and holds %d bytes", name, held)
			}
		})
	}
}

// TestSession_endsWithServer stops the server in several states of a session. If the client closes the WebSocket, the session ends
// without further delay.
func TestSession_endsWithServer(t *testing.T) {
	for name, sent := range map[string]string{
		"idle":             "",
		"within a header":  "\x81\xfe",
		"within a frame":   announced(finalBit|opcodeText, 3, "x"),
		"within a message": masked(opcodeText, "x"),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			client.send(t, sent)
			synctest.Wait()
			began := time.Now()
			close(h.life.ending)
			if got := client.next(t); got != "close 1001 the server is stopping" {
				t.Errorf("%s: the reported end is %q", name, got)
			}
			whole := map[string]string{"within a header": "\x00\x80\x00\x00\x00\x00" + echotest.Payload(128), "within a frame": "yz"}
			client.send(t, whole[name], textFrame("late"), closeFrame(1001, ""))
			if got := client.next(t); got != "end" || time.Since(began) != 0 {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), got)
			}
		})
	}
}

// TestSession_closesIfServerIsStopping opens a WebSocket when the server is already stopping.
func TestSession_closesIfServerIsStopping(t *testing.T) {
	h := handlerOf(t)
	close(h.life.ending)
	if got := openRaw(t, echotest.Dial(t, serve(t, h).URL)).all(t); !slices.Equal(got, []string{"close 1001 the server is stopping"}) {
		t.Errorf("got %q", got)
	}
}
