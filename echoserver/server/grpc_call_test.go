package server

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandler_endsCallsWithServer checks that a stopping server ends streams with a status, and ends delays early.
func TestHandler_endsCallsWithServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		client := http2InMemory(t, listener)
		streams := map[string]*calling{
			"echo":  begin(t, client, "http://a"+bidiPath, echoRequest(t, "hello")),
			"watch": listen(t, client, "http://a"+watchPath, prefixed("")),
		}
		for name, stream := range streams {
			if stream.receive(t) == nil {
				t.Errorf("%s: there is no first message", name)
			}
		}
		delayed := make(chan string)
		go func() {
			status, _ := called(t, client, "http://a"+unaryPath, echoRequest(t, "hello"), "X-Echo-Delay", "30s")
			delayed <- status
		}()
		synctest.Wait()
		began := time.Now()
		close(h.life.ending)
		for name, stream := range streams {
			if got := stream.status(t); got != "14 the server is stopping" {
				t.Errorf("%s: the status is %s", name, got)
			}
		}
		if got := <-delayed; got != "0 " || time.Since(began) != 0 {
			t.Errorf("after %s the delayed call has the status %s", time.Since(began), got)
		}
	})
}

// TestHandler_limitsIdleTimeOfCalls checks how long a gRPC client may be idle.
func TestHandler_limitsIdleTimeOfCalls(t *testing.T) {
	const overdue = "4 the deadline of the call was exceeded"
	for name, c := range map[string]struct {
		path    string
		first   []byte
		headers []string
		want    time.Duration
		status  string
	}{
		"no message of a call":          {unaryPath, nil, nil, 30 * time.Second, "4 no message was received in time"},
		"no message of a stream":        {bidiPath, nil, nil, 10 * time.Minute, "4 no message was received in time"},
		"no second message of a stream": {bidiPath, echoRequest(t, "hello"), nil, 10 * time.Minute, "4 no message was received in time"},
		"half a message":                {bidiPath, echoRequest(t, "hello")[:7], nil, 30 * time.Second, "4 no message was received in time"},
		"half a prefix":                 {bidiPath, echoRequest(t, "hello")[:1], nil, 30 * time.Second, "4 no message was received in time"},
		"no end of a request":           {watchPath, prefixed(""), nil, 30 * time.Second, "4 no message was received in time"},
		"the client's deadline":         {bidiPath, nil, []string{"Grpc-Timeout", "7S"}, 7 * time.Second, overdue},
		"the deadline in a delay":       {bidiPath, nil, []string{"Grpc-Timeout", "7S", "X-Echo-Delay", "8s"}, 7 * time.Second, overdue},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t)
			_, listener := serveInMemory(t, h)
			began := time.Now()
			call := begin(t, http2InMemory(t, listener), "http://a"+c.path, c.first, c.headers...)
			call.receive(t)
			if got := call.status(t); got != c.status || time.Since(began) != c.want {
				t.Errorf("%s: after %s the status is %s", name, time.Since(began), got)
			}
			synctest.Wait()
			if h.metrics.inFlight.Load() != 0 {
				t.Errorf("%s: the request is in flight", name)
			}
		})
	}
}

// TestHandler_limitsUploadOfRejectedCall checks how long an HTTP/1.1 client may take to send the message of a rejected call.
func TestHandler_limitsUploadOfRejectedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		began := time.Now()
		got := echotest.Exchanged(t, listener.Dial(t), "POST "+unaryPath+" HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc-web\r\n"+
			"X-Echo-Grpc-Status: 5\r\nContent-Length: 100\r\n\r\n")
		if took := time.Since(began); !strings.Contains(got, "\r\nGrpc-Status: 5\r\n") || took > exchange.StallTimeout+time.Second {
			t.Errorf("after %s, the connection ends with %q", took, got)
		}
	})
}

// TestHandler_endsUnreadCalls checks that the server ends a response that the client does not read, but does not end a stream that is
// merely idle.
func TestHandler_endsUnreadCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		counts := countCalls(h)
		_, listener := serveInMemory(t, h)
		client := http2InMemory(t, listener)
		for path, request := range map[string]proto.Message{
			unaryPath:                        &echov1.EchoRequest{Message: echotest.Payload(10 * window)},
			echov1.EchoServerStreamProcedure: &echov1.ServerStreamRequest{Message: echotest.Payload(16 << 10), Count: 1000},
		} {
			began := time.Now()
			listen(t, client, "http://a"+path, sentMessage(t, request))
			for h.metrics.inFlight.Load() != 0 {
				<-time.After(time.Second)
			}
			if took := time.Since(began); took < exchange.StallTimeout || took > exchange.StallTimeout+2*time.Second {
				t.Errorf("%s: the response ended after %s", path, took)
			}
		}
		if got := counts.all(); !slices.Equal(got, []string{"ServerStream CANCELLED", "Unary CANCELLED"}) {
			t.Errorf("counted are %q", got)
		}
		stream := begin(t, client, "http://a"+bidiPath, echoRequest(t, "hello"))
		stream.receive(t)
		<-time.After(betweenMessages - time.Second)
		if _, err := stream.body.Write(echoRequest(t, "again")); err != nil {
			t.Fatal(err)
		}
		got := &echov1.EchoResponse{}
		if err := proto.Unmarshal(stream.receive(t), got); err != nil || got.Message != "again" || got.Number != 2 {
			t.Errorf("after the pause comes %v, %v", got, err)
		}
	})
}

// TestHandler_excludesReadingFromMessageTimeout checks that the time limit for a message does not include the time that the client needs to
// read the response.
func TestHandler_excludesReadingFromMessageTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := serveInMemory(t, handlerOf(t))
		call := begin(t, http2InMemory(t, listener), "http://a"+bidiPath, echoRequest(t, "hello"))
		call.receive(t)
		large := echoRequest(t, echotest.Payload(2*window))
		for _, part := range [][]byte{large[:window], large[window:]} {
			if _, err := call.body.Write(part); err != nil {
				t.Fatal(err)
			}
			<-time.After(messageTimeout - time.Second) // after the second part, the response waits for the client
		}
		if got := call.receive(t); len(got) < 2*window {
			t.Errorf("the response has %d bytes", len(got))
		}
		if _, err := call.body.Write(echoRequest(t, "again")); err != nil {
			t.Fatal(err)
		}
		if got := call.receive(t); !strings.Contains(string(got), "again") {
			t.Errorf("after the pause comes %q", got)
		}
	})
}

// TestWatch checks that Watch sends the status immediately, and again when the status changes.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		server, listener := serveInMemory(t, h)
		began := time.Now()
		client := http2InMemory(t, listener)
		watch := listen(t, client, "http://a"+watchPath, prefixed(""))
		unknown := listen(t, client, "http://a"+watchPath, prefixed("\x0a\x01x"))
		h1 := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.Dial(t), nil }}}
		web := listen(t, h1, "http://a"+watchPath, prefixed(""), "Content-Type", grpcWebType)
		for _, stream := range []*calling{watch, web} {
			if got := stream.receive(t); string(got) != "\x08\x01" {
				t.Errorf("the first status is %q", got)
			}
		}
		if got := unknown.receive(t); string(got) != "\x08\x03" {
			t.Errorf("the status of an unknown service is %q", got)
		}
		<-time.After(time.Hour) // nothing ends the stream
		_, done := drained(h.life, server, 90*time.Second)
		for _, stream := range []*calling{watch, web} {
			if got := stream.receive(t); string(got) != "\x08\x02" || time.Since(began) != time.Hour {
				t.Errorf("after %s, while it drains, comes %q", time.Since(began), got)
			}
		}
		for _, stream := range []*calling{watch, unknown} {
			if got := stream.status(t); got != "14 the server is stopping" {
				t.Errorf("the status is %s", got)
			}
		}
		<-done
	})
}

// TestHandler_limitsDelayedCalls checks that the limit for delayed responses includes gRPC calls.
func TestHandler_limitsDelayedCalls(t *testing.T) {
	h := handlerOf(t, "ECHO_RESPONSE_DELAY=30s")
	h.delays.Waiting.Store(exchange.MaxWaiting)
	status, _ := called(t, echotest.Clients(t)["HTTP/2.0"], serve(t, h).URL+unaryPath, echoRequest(t, "hello"))
	if status != "8 1000 responses are already delayed" || h.delays.Waiting.Load() != exchange.MaxWaiting {
		t.Errorf("the status is %s, and %d responses are delayed", status, h.delays.Waiting.Load())
	}
}
