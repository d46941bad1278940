package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

func dialWebSocket(t *testing.T, address string, headers http.Header) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

func TestWebSocket(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	connection := dialWebSocket(t, server.URL, http.Header{"Origin": {"http://elsewhere.example"}})
	for _, size := range []int{0, 5, firstChunk - 1, firstChunk, firstChunk + 1, 200_000, maxMessage} {
		sent := payload(size)
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
	if err := connection.Write(ctx, websocket.MessageText, []byte(payload(maxMessage+1))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := connection.Read(ctx); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("one byte over the limit: %v", err)
	}
	until(t, "the connection is gone and the limit counted", func() bool {
		return h.metrics.webSockets.Load() == 0 && counted(h.metrics.limits, limitMessage) == 1
	})
}

func TestManyWebSockets(t *testing.T) {
	server := serve(t, handlerOf(t))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

func TestWebSocketsAreToldOfTheEnd(t *testing.T) {
	h := handlerOf(t)
	connection := dialWebSocket(t, serve(t, h).URL, nil)
	close(h.life.ending)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, _, err := connection.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the end is told as %v", err)
	}
	if err := h.life.awaitWebSockets(ctx); err != nil {
		t.Errorf("the server's side remains: %v", err)
	}
}

func TestWebSocketPage(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range clients(t) {
		got := send(t, client, http.MethodGet, server.URL+"/-/ws", "")
		if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != pageType || !strings.Contains(got.body, "new WebSocket(") {
			t.Errorf("%s: answered %d %s", proto, got.StatusCode, got.Header.Get("Content-Type"))
		}
		if got := send(t, client, http.MethodPost, server.URL+"/-/ws", ""); got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET" {
			t.Errorf("%s: POST is answered %d", proto, got.StatusCode)
		}
	}
	if got := send(t, clients(t)["HTTP/1.1"], http.MethodGet, server.URL+"/-/ws", "", "Connection", "upgrade", "Upgrade", "websocket"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a malformed handshake is answered %d", got.StatusCode)
	}
}

// memoryClient returns an HTTP client whose connections go to a server in memory.
func memoryClient(t *testing.T, listener *memoryListener) *http.Client {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(t), nil }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestWebSocketTimeout checks how long a connection may be idle, and that each message starts that time again.
func TestWebSocketTimeout(t *testing.T) {
	const idle = 620 * time.Second
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		connection, response, err := websocket.Dial(t.Context(), "ws://a/-/ws", &websocket.DialOptions{HTTPClient: memoryClient(t, listener)})
		if err != nil {
			t.Fatal(err)
		}
		if response.Body != nil {
			_ = response.Body.Close()
		}
		<-time.After(idle - time.Second)
		if err := connection.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := connection.Read(t.Context()); err != nil || string(got) != "hello" {
			t.Fatalf("after almost the whole time comes %q, %v", got, err)
		}
		began := time.Now()
		if _, _, err := connection.Read(t.Context()); err == nil || time.Since(began) != idle {
			t.Errorf("the idle connection ended after %s with %v", time.Since(began), err)
		}
		synctest.Wait()
		if h.metrics.webSockets.Load() != 0 || h.metrics.inFlight.Load() != 0 || counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "101") != 1 {
			t.Errorf("%d connections are open, %d requests in flight, counted are %v", h.metrics.webSockets.Load(), h.metrics.inFlight.Load(), series(t, h.metrics, "echo_http_requests_total"))
		}
		_ = connection.CloseNow()
	})
}
