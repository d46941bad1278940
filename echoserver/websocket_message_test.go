package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// limitMessages lets messages hold this many bytes.
func limitMessages(h *handler, bytes int64) { h.budget.requests.limit = (bytes + 2) / 3 * 4 }

// TestWebSocketMemory checks that a session holds what it has received, not what was announced, and nothing between messages.
func TestWebSocketMemory(t *testing.T) {
	const whole = maxMessage + maxChunk
	for name, c := range map[string]struct {
		sent     string
		peak     int64
		complete bool
	}{
		"a header":                  {announced(finalBit|opcodeBinary, maxMessage, ""), firstChunk, false},
		"one byte":                  {announced(finalBit|opcodeBinary, maxMessage, "x"), firstChunk, false},
		"one chunk":                 {announced(finalBit|opcodeBinary, maxMessage, payload(firstChunk)), 3 * firstChunk, false},
		"half a message":            {announced(finalBit|opcodeBinary, maxMessage, payload(maxMessage/2)), maxMessage/2 + maxChunk, false},
		"a small message":           {textFrame("hello"), firstChunk, true},
		"a large message":           {textFrame(payload(maxMessage)), whole, true},
		"many small fragments":      {masked(opcodeText, "") + strings.Repeat(masked(opcodeContinuation, "x"), 5000), 3 * firstChunk, false},
		"one message after another": {strings.Repeat(textFrame(payload(1000)), 3), firstChunk, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, c.peak)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.dial(t))
			received := make(chan string, 10)
			go func() {
				for opcode, payload, err := readMessage(client.reader); err == nil; opcode, payload, err = readMessage(client.reader) {
					received <- asText(opcode, payload)
				}
				close(received)
			}()
			client.send(t, c.sent)
			synctest.Wait()
			if held := h.budget.requests.used.Load(); held > c.peak || (held == 0) != c.complete {
				t.Errorf("%s: %d bytes are held, want at most %d", name, held, c.peak)
			}
			_ = client.Close()
			for got := range received {
				if strings.HasPrefix(got, "close") {
					t.Errorf("%s: more than %d bytes were needed: %s", name, c.peak, got)
				}
			}
			synctest.Wait()
			if held := h.budget.requests.used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: after the connection was lost, %d bytes are held by %d sessions", name, held, h.metrics.webSockets.Load())
			}
		})
	}
}

// TestWebSocketWithoutMemory refuses memory at several sizes.
func TestWebSocketWithoutMemory(t *testing.T) {
	for _, limit := range []int64{0, firstChunk - 1, firstChunk, maxMessage / 2, maxMessage} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, limit)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.dial(t), textFrame(payload(maxMessage)), closeFrame(1000, ""))
			if got := client.all(t); !slices.Equal(got, []string{"close 1013 the server holds too much already, try again later"}) {
				t.Errorf("with %d bytes: got %.200q", limit, got)
			}
			synctest.Wait()
			if held := h.budget.requests.used.Load(); counted(h.metrics.limits, limitMemory) != 1 || held != 0 {
				t.Errorf("with %d bytes: counted are %v, %d bytes are held", limit, h.metrics.limits, held)
			}
		})
	}
}
