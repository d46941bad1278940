package main

import (
	"bufio"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWebSocketDeadlines lets time run out in every state. A client that does not respond to the close frame gets 5 s more.
func TestWebSocketDeadlines(t *testing.T) {
	const seconds = time.Second
	slow := append([]string{announced(finalBit|opcodeBinary, 1000, "")}, strings.Split(payload(900), "")...)
	for name, c := range map[string]struct {
		sent  []string
		pause time.Duration // after each
		takes time.Duration // from the first byte
		want  string
	}{
		"nothing":                       {nil, 0, 620 * seconds, "close 1001 nothing was received for 10m20s"},
		"nothing after a ping":          {[]string{pingFrame("")}, 0, 620 * seconds, "close 1001 nothing was received for 10m20s"},
		"pings keep it open":            {slices.Repeat([]string{pingFrame("")}, 3), 619 * seconds, (2*619 + 620) * seconds, "close 1001 nothing was received for 10m20s"},
		"one byte":                      {[]string{"\x81"}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"part of a header":              {[]string{"\x81\xfe\x00"}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"a header alone":                {[]string{announced(finalBit|opcodeText, 1000, "")}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"part of a frame":               {[]string{announced(finalBit|opcodeText, 1000, "x")}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"part of a ping":                {[]string{announced(finalBit|opcodePing, 5, "x")}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"part of a message":             {[]string{masked(opcodeText, "x")}, 0, 30 * seconds, "close 1008 the message was not received in time"},
		"a message that moves slowly":   {slow, 29 * seconds, 120 * seconds, "close 1008 the message was not received in time"},
		"pings do not extend a message": {append([]string{masked(opcodeText, "x")}, slices.Repeat([]string{pingFrame("")}, 9)...), 20 * seconds, 120 * seconds, "close 1008 the message was not received in time"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.dial(t))
			began := time.Now()
			go func() {
				for _, frame := range c.sent {
					_, _ = io.WriteString(client, frame) // the server may have closed already
					select {
					case <-time.After(c.pause):
					case <-t.Context().Done():
						return
					}
				}
			}()
			got := client.next(t)
			for got == "pong " {
				got = client.next(t)
			}
			if took := time.Since(began); got != c.want || took != c.takes {
				t.Errorf("%s: after %s comes %q, want %q after %s", name, took, got, c.want, c.takes)
			}
			if got := client.next(t); got != "end" || time.Since(began) != c.takes+5*time.Second {
				t.Errorf("%s: the connection ends after %s, %s", name, time.Since(began), got)
			}
			synctest.Wait()
			if h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: the WebSocket is counted as open", name)
			}
		})
	}
}

// TestWebSocketClientThatDoesNotRead stops reading within a message that comes back.
func TestWebSocketClientThatDoesNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		stop  bool // the server stops at once
		takes time.Duration
	}{
		"serving":  {false, 30 * time.Second},
		"stopping": {true, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.dial(t))
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
			if h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: the server waits for a client that does not read", name)
			}
		})
	}
}

// TestWebSocketEndsWithTheServer stops the server in several states. A client that closes is not kept waiting.
func TestWebSocketEndsWithTheServer(t *testing.T) {
	for name, sent := range map[string]string{
		"idle":             "",
		"within a header":  "\x81\xfe",
		"within a frame":   announced(finalBit|opcodeText, 3, "x"),
		"within a message": masked(opcodeText, "x"),
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.dial(t))
			client.send(t, sent)
			synctest.Wait()
			began := time.Now()
			close(h.life.ending)
			if got := client.next(t); got != "close 1001 the server is stopping" {
				t.Errorf("%s: the end is told as %q", name, got)
			}
			whole := map[string]string{"within a header": "\x00\x80\x00\x00\x00\x00" + payload(128), "within a frame": "yz"}
			client.send(t, whole[name], textFrame("late"), closeFrame(closeGoingAway, ""))
			if got := client.next(t); got != "end" || time.Since(began) != 0 {
				t.Errorf("%s: after %s comes %q", name, time.Since(began), got)
			}
		})
	}
}

// TestWebSocketAtTheEnd opens one when the server stops already.
func TestWebSocketAtTheEnd(t *testing.T) {
	h := handlerOf(t)
	close(h.life.ending)
	if got := openRaw(t, dial(t, serve(t, h).URL)).all(t); !slices.Equal(got, []string{"close 1001 the server is stopping"}) {
		t.Errorf("got %q", got)
	}
}

// heldBytes is memory for messages with a limit.
type heldBytes struct{ limit, held, peak int64 }

func (b *heldBytes) memory() messageMemory {
	return messageMemory{
		grow: func(n int64) bool {
			if b.held+n > b.limit {
				return false
			}
			b.held += n
			b.peak = max(b.peak, b.held)
			return true
		},
		release: func(n int64) { b.held -= n },
	}
}

// session starts a session over a connection in memory. ended receives its result, after which the memory can be examined.
func startSession(t *testing.T, memory messageMemory) (client *rawClient, ended chan *webSocketClose) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	ended = make(chan *webSocketClose, 1)
	go func() { ended <- newWebSocketSession(far, bufio.NewReader(far), nil, memory).run(nil) }()
	return &rawClient{Conn: near, reader: bufio.NewReader(near)}, ended
}

// TestWebSocketMemory checks that a session holds what it has received, not what was announced, and nothing between messages.
func TestWebSocketMemory(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		peak int64
	}{
		"a header":                  {announced(finalBit|opcodeBinary, maxMessage, ""), firstChunk},
		"one byte":                  {announced(finalBit|opcodeBinary, maxMessage, "x"), firstChunk},
		"one chunk":                 {announced(finalBit|opcodeBinary, maxMessage, payload(firstChunk-maxServerHeader)), 3 * firstChunk},
		"half a message":            {announced(finalBit|opcodeBinary, maxMessage, payload(maxMessage/2)), maxMessage/2 + maxChunk},
		"a small message":           {textFrame("hello"), maxServerHeader + 5},
		"a large message":           {textFrame(payload(maxMessage)), maxMessage + maxServerHeader},
		"many small fragments":      {masked(opcodeText, "") + strings.Repeat(masked(opcodeContinuation, "x"), 5000), firstChunk * 3},
		"one message after another": {strings.Repeat(textFrame(payload(1000)), 3), maxServerHeader + 1000},
	} {
		synctest.Test(t, func(t *testing.T) {
			bytes := &heldBytes{limit: 2 * maxMessage}
			client, ended := startSession(t, bytes.memory())
			go func() { _, _ = io.Copy(io.Discard, client.reader) }()
			client.send(t, c.sent)
			synctest.Wait()
			if complete := strings.Contains(name, "message") && name != "half a message"; bytes.peak > c.peak || (bytes.held == 0) != complete {
				t.Errorf("%s: %d bytes are held, at most %d, want %d", name, bytes.held, bytes.peak, c.peak)
			}
			_ = client.Close()
			if got := <-ended; got != nil || bytes.held != 0 {
				t.Errorf("%s: after the connection was lost, %d bytes are held; closed by %v", name, bytes.held, got)
			}
		})
	}
}

// TestWebSocketWithoutMemory refuses memory at several sizes.
func TestWebSocketWithoutMemory(t *testing.T) {
	for _, limit := range []int64{0, 10, firstChunk, maxMessage / 2, maxMessage} {
		bytes := &heldBytes{limit: limit}
		client, ended := startSession(t, bytes.memory())
		go func() { _, _ = io.WriteString(client, textFrame(payload(maxMessage))) }()
		if got := client.next(t); got != "close 1013 the server holds too much already, try again later" {
			t.Errorf("with %d bytes: got %q", limit, got)
		}
		_ = client.Close()
		if got := <-ended; got.limit() != limitMemory || bytes.held != 0 || bytes.peak > limit {
			t.Errorf("with %d bytes: counted as %q, %d are held, at most %d", limit, got.limit(), bytes.held, bytes.peak)
		}
	}
}

func TestWebSocketLimits(t *testing.T) {
	for _, c := range []struct {
		closing *webSocketClose
		want    string
	}{
		{nil, ""},
		{&webSocketClose{code: closeTooBig}, limitMessage},
		{&webSocketClose{code: closeTryAgainLater}, limitMemory},
		{&webSocketClose{code: closeTooBig, received: true}, ""},
		{&webSocketClose{code: closeGoingAway}, ""},
	} {
		if got := c.closing.limit(); got != c.want {
			t.Errorf("%+v is counted as %q, want %q", c.closing, got, c.want)
		}
	}
}
