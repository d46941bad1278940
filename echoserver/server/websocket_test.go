package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/coder/websocket"

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
