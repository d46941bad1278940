package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestEvents(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.events(exchange.New(w, r), r, time.Millisecond)
	}))
	for proto, client := range echotest.Clients(t) {
		lines := bufio.NewScanner(echotest.Open(t, client, http.MethodGet, server.URL, http.NoBody).Body)
		for number := 1; number <= 3; number++ {
			for _, want := range []string{fmt.Sprintf("id: %d", number), fmt.Sprintf(`data: {"number":%d,"time":"`, number), ""} {
				if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
					t.Fatalf("%s: got %q, want %q", proto, lines.Text(), want)
				}
			}
		}
	}
}

func TestFirstEvent(t *testing.T) {
	for lastID, want := range map[string]int64{
		"": 1, "0": 1, "1": 2, "41": 42, "4503599627370495": 4503599627370496,
		"4503599627370496": 1, "99999999999999999999": 1, "-1": 1, "+1": 1, "1.5": 1, "x": 1,
	} {
		if got := firstEvent(lastID); got != want {
			t.Errorf("after %q comes %d, want %d", lastID, got, want)
		}
	}
}

func TestEvents_continueAfterLastID(t *testing.T) {
	url := serve(t, handlerOf(t)).URL + "/shop/-/sse"
	response := echotest.Open(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, url, http.NoBody, "Last-Event-ID", "41")
	if first, err := bufio.NewReader(response.Body).ReadString('\n'); first != "id: 42\n" {
		t.Errorf("after the event 41 comes %q, %v", first, err)
	}
}

func TestEvents_beginImmediatelyAndEndWithServer(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	client := echotest.Clients(t)["HTTP/1.1"]
	if got := echotest.Send(t, client, http.MethodPost, server.URL+"/-/sse", ""); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gets %d", got.StatusCode)
	}
	response := echotest.Open(t, client, http.MethodGet, server.URL+"/-/sse", http.NoBody)
	if first, err := bufio.NewReader(response.Body).ReadString('\n'); first != "id: 1\n" ||
		response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the first line is %q of %v, %v", first, response.Header, err)
	}
	echotest.Until(t, "the request is in flight", func() bool { return h.metrics.inFlight.Load() == 1 })
	close(h.life.ending)
	echotest.Until(t, "it ends", func() bool { return h.metrics.inFlight.Load() == 0 })
}

// TestEvents_comeEachSecond reads the stream for a few seconds and then stops reading. The server must end the stream after 30 s.
func TestEvents_comeEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		connection, began := listener.Dial(t), time.Now()
		if _, err := io.WriteString(connection, "GET /-/sse HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(connection)
		for number := 1; number <= 5; {
			if !lines.Scan() {
				t.Fatalf("the stream ends after %d events: %v", number-1, lines.Err())
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				want := fmt.Sprintf(`{"number":%d,"time":"%s"}`, number, began.Add(time.Duration(number-1)*time.Second).UTC().Format(time.RFC3339Nano))
				if data != want || time.Since(began) != time.Duration(number-1)*time.Second {
					t.Errorf("after %s comes %s, want %s", time.Since(began), data, want)
				}
				number++
			}
		}
		<-time.After(30*time.Second + time.Second - 1) // the time limit starts with the next event
		if h.metrics.inFlight.Load() != 1 {
			t.Error("the server does not wait until the client reads")
		}
		<-time.After(1)
		synctest.Wait()
		if h.metrics.inFlight.Load() != 0 {
			t.Error("the server waits for a client that does not read")
		}
	})
}
