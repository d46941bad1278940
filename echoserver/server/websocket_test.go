package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func dialWebSocket(t *testing.T, address string, headers http.Header) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	t.Cleanup(cancel)
	connection, response, err := websocket.Dial(ctx, address+"/-/ws", &websocket.DialOptions{HTTPHeader: headers})
	if err != nil {
		t.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	t.Cleanup(func() { _ = connection.CloseNow() })
	connection.SetReadLimit(2 * maxMessage)
	return connection
}

func TestSession_echoesMessages(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	defer cancel()
	connection := dialWebSocket(t, server.URL, http.Header{"Origin": {"http://elsewhere.example"}})
	for _, size := range []int{0, 5, firstChunk - 1, firstChunk, firstChunk + 1, 200_000, maxMessage} {
		sent := echotest.Payload(size)
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			if err := connection.Write(ctx, kind, []byte(sent)); err != nil {
				t.Fatal(err)
			}
			gotKind, got, err := connection.Read(ctx)
			if err != nil || gotKind != kind || string(got) != sent {
				t.Fatalf("of %d bytes as %s %d came back as %s, %v", len(sent), kind, len(got), gotKind, err)
			}
		}
	}
	if h.metrics.webSockets.Load() != 1 {
		t.Errorf("%d connections are counted", h.metrics.webSockets.Load())
	}
	if err := connection.Write(ctx, websocket.MessageText, []byte(echotest.Payload(maxMessage+1))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := connection.Read(ctx); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("one byte over the limit: %v", err)
	}
	echotest.Until(t, "the connection is closed and the rejection is counted", func() bool {
		return h.metrics.webSockets.Load() == 0 && counted(h.metrics.rejected, "websocket_message") == 1
	})
}

func TestSession_echoesConcurrently(t *testing.T) {
	server := serve(t, handlerOf(t))
	ctx, cancel := context.WithTimeout(t.Context(), echotest.Patience)
	defer cancel()
	var all sync.WaitGroup
	for range 50 {
		connection := dialWebSocket(t, server.URL, nil)
		all.Go(func() {
			for range 20 {
				err := connection.Write(ctx, websocket.MessageText, []byte("hello"))
				_, got, errRead := connection.Read(ctx)
				if err := errors.Join(err, errRead); err != nil || string(got) != "hello" {
					t.Errorf("got %q, %v", got, err)
					return
				}
			}
			if err := connection.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	all.Wait()
}

// limitMessages limits the memory for messages to the given number of bytes.
func limitMessages(h *handler, bytes int64) { h.budget.Requests.Limit = (bytes + 2) / 3 * 4 }

// TestMessage_reservesOnlyReceivedBytes checks that a session reserves memory only for received data, not for the announced length, and
// none between messages.
func TestMessage_reservesOnlyReceivedBytes(t *testing.T) {
	const whole = maxMessage + maxChunk
	for name, c := range map[string]struct {
		sent     string
		peak     int64
		complete bool
	}{
		"a header":  {announced(finalBit|opcodeBinary, maxMessage, ""), firstChunk, false},
		"one byte":  {announced(finalBit|opcodeBinary, maxMessage, "x"), firstChunk, false},
		"one chunk": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(firstChunk)), 3 * firstChunk, false},
		"half a message": {announced(finalBit|opcodeBinary, maxMessage, echotest.Payload(maxMessage/2)), maxMessage/2 + maxChunk,
			false},
		"a small message":           {textFrame("hello"), firstChunk, true},
		"a large message":           {textFrame(echotest.Payload(maxMessage)), whole, true},
		"many small fragments":      {masked(opcodeText, "") + strings.Repeat(masked(opcodeContinuation, "x"), 5000), 3 * firstChunk, false},
		"one message after another": {strings.Repeat(textFrame(echotest.Payload(1000)), 3), firstChunk, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, c.peak)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t))
			received := make(chan string, 10)
			go func() {
				for got := client.next(t); got != "end"; got = client.next(t) {
					received <- got
				}
				close(received)
			}()
			client.send(t, c.sent)
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held > c.peak || (held == 0) != c.complete {
				t.Errorf("%s: %d bytes are held, want at most %d", name, held, c.peak)
			}
			_ = client.Close()
			for got := range received {
				if strings.HasPrefix(got, "close") {
					t.Errorf("%s: more than %d bytes were needed: %s", name, c.peak, got)
				}
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); held != 0 || h.metrics.webSockets.Load() != 0 {
				t.Errorf("%s: after the connection was lost, %d bytes are held by %d sessions", name, held, h.metrics.webSockets.Load())
			}
		})
	}
}

// TestSession_closesWithoutMemory exhausts the memory budget after different amounts of received data.
func TestSession_closesWithoutMemory(t *testing.T) {
	for _, limit := range []int64{0, firstChunk - 1, firstChunk, maxMessage / 2, maxMessage} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			limitMessages(h, limit)
			_, listener := serveInMemory(t, h)
			client := openRaw(t, listener.Dial(t), textFrame(echotest.Payload(maxMessage)), closeFrame(1000, ""))
			if got := client.all(t); !slices.Equal(got, []string{"close 1013 the server has used up its memory budget; try again later"}) {
				t.Errorf("with %d bytes: got %.200q", limit, got)
			}
			synctest.Wait()
			if held := h.budget.Requests.Used.Load(); counted(h.metrics.rejected, transport.LimitMemory) != 1 || held != 0 {
				t.Errorf("with %d bytes: the counts are %v, %d bytes are held", limit, h.metrics.rejected, held)
			}
		})
	}
}

// TestSession_handlesEachFrameKind sends frames that the session or its timers handle, and one frame of each kind that the WebSocket
// library rejects.
func TestSession_handlesEachFrameKind(t *testing.T) {
	end, last := closeFrame(1000, ""), masked(finalBit|opcodeContinuation, "c")
	for name, c := range map[string]struct {
		sent string
		want []string
	}{
		"a ping within a message": {masked(opcodeText, "a") + pingFrame("1") + last + end,
			[]string{"pong 1", "text ac", "close 1000"}},
		"a close frame":          {closeFrame(4999, "bye \u00e4"), []string{"close 4999 bye \u00e4"}},
		"a ping after closing":   {end + pingFrame("late"), []string{"close 1000"}},
		"close within a message": {masked(opcodeText, "a") + end, []string{"close 1000"}},
		"a character in two fragments": {masked(opcodeText, "\xce") + masked(finalBit|opcodeContinuation, "\xba") + end,
			[]string{"text \u03ba", "close 1000"}},
		"half a character in a binary message": {masked(finalBit|opcodeBinary, "\xce") + textFrame("\xba"),
			[]string{"binary \xce", "close 1007 a text"}},
		"half a character at the end":  {textFrame("ok\xce"), []string{"close 1007 a text"}},
		"not UTF-8 within a message":   {masked(opcodeText, "\xff"), []string{"close 1007 a text"}},
		"frames after text that fails": {textFrame("\xff") + pingFrame("late") + textFrame("late"), []string{"close 1007 a text"}},
		"fragments over the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(opcodeContinuation, "x"),
			[]string{"close 1009"}},
		"an empty fragment at the limit": {masked(opcodeBinary, echotest.Payload(maxMessage)) + masked(finalBit|opcodeContinuation, "") + end,
			[]string{"binary " + echotest.Payload(maxMessage), "close 1000"}},
		"not masked":                {"\x81\x05hello", []string{"close 1002"}},
		"a continuation of nothing": {last, []string{"close 1002"}},
		"a reserved opcode":         {masked(finalBit|3, ""), []string{"close 1002"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, listener := serveInMemory(t, handlerOf(t))
			got := openRaw(t, listener.Dial(t), c.sent).all(t)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) { // most reasons come from the library, so only their prefixes are compared
				t.Errorf("%s: got %.200q, want %.200q", name, got, c.want)
			}
		})
	}
}

// TestSession_deliversCloseFrameDespiteUnreadData checks over real connections that the client receives the close frame even if the server
// has not read all data.
func TestSession_deliversCloseFrameDespiteUnreadData(t *testing.T) {
	address := serve(t, handlerOf(t)).URL
	late := textFrame(echotest.Payload(512<<10)) + closeFrame(1000, "")
	for first, want := range map[string]string{closeFrame(1000, ""): "close 1000", masked(opcodePing, ""): "close 1002"} {
		client := openRaw(t, echotest.Dial(t, address))
		client.send(t, first+late) // sent before the server reads anything
		if got, end := client.next(t), client.next(t); !strings.HasPrefix(got, want) || end != "end" {
			t.Errorf("got %q and %q, want %q and the end", got, end, want)
		}
	}
}
