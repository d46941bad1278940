package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestGRPCOfTheEnd checks that the end of the server ends streams, with a status, and delays.
func TestGRPCOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		client := http2InMemory(t, listener)
		streams := map[string]*calling{
			"echo":  begin(t, client, "http://a"+bidiPath, echoRequest("hello")),
			"watch": begin(t, client, "http://a"+watchPath, framed(nil)),
		}
		for name, stream := range streams {
			if stream.receive(t) == nil {
				t.Errorf("%s: there is no first message", name)
			}
		}
		delayed := make(chan string)
		go func() {
			status, _ := called(t, client, "http://a"+unaryPath, echoRequest("hello"), "X-Echo-Delay", "30s")
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

// TestGRPCTimeouts checks how long clients may do nothing.
func TestGRPCTimeouts(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		first   []byte
		headers []string
		want    time.Duration
		status  string
	}{
		"no message of a call":          {unaryPath, nil, nil, 30 * time.Second, "4 no message was received in time"},
		"no message of a stream":        {bidiPath, nil, nil, 10 * time.Minute, "4 no message was received in time"},
		"no second message of a stream": {bidiPath, echoRequest("hello"), nil, 10 * time.Minute, "4 no message was received in time"},
		"half a message":                {bidiPath, echoRequest("hello")[:7], nil, 30 * time.Second, "4 no message was received in time"},
		"half a prefix":                 {bidiPath, echoRequest("hello")[:1], nil, 30 * time.Second, "4 no message was received in time"},
		"the client's deadline":         {bidiPath, nil, []string{"Grpc-Timeout", "7S"}, 7 * time.Second, "4 the deadline of the call was exceeded"},
		"the deadline in a delay":       {bidiPath, nil, []string{"Grpc-Timeout", "7S", "X-Echo-Delay", "8s"}, 7 * time.Second, "4 the deadline of the call was exceeded"},
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

// TestGRPCClientThatDoesNotRead checks that a response that is not read ends, and that a stream that is only idle does not.
func TestGRPCClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		client := http2InMemory(t, listener)
		began := time.Now()
		var request protobuf
		request.text(wireMessage, payload(16<<10))
		request.varint(3, 1000)
		begin(t, client, "http://a/echo.v1.Echo/ServerStream", framed(request))
		for h.metrics.inFlight.Load() != 0 {
			<-time.After(time.Second)
		}
		if took := time.Since(began); took < stallTimeout || took > stallTimeout+2*time.Second {
			t.Errorf("the response ended after %s", took)
		}
		stream := begin(t, client, "http://a"+bidiPath, echoRequest("hello"))
		stream.receive(t)
		<-time.After(betweenMessages - time.Second)
		if _, err := stream.body.Write(echoRequest("again")); err != nil {
			t.Fatal(err)
		}
		if got := stream.receive(t); string(fieldOf(got, wireMessage)) != "again" {
			t.Errorf("after the pause comes %q", got)
		}
	})
}

// TestWatchRepeats checks that a watched status is sent again, so that a client that is gone is noticed, and when it changes.
func TestWatchRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		server, listener := serveInMemory(t, h)
		began := time.Now()
		watch := begin(t, http2InMemory(t, listener), "http://a"+watchPath, framed(nil))
		for n := range 3 {
			if got := watch.receive(t); string(got) != "\x08\x01" || time.Since(began) != time.Duration(n)*time.Minute {
				t.Errorf("after %s comes %q", time.Since(began), got)
			}
		}
		_, done := drained(h.life, server, 90*time.Second)
		for _, want := range []time.Duration{0, time.Minute} {
			if got := watch.receive(t); string(got) != "\x08\x02" || time.Since(began) != 2*time.Minute+want {
				t.Errorf("after %s, while it drains, comes %q", time.Since(began), got)
			}
		}
		if got := watch.status(t); got != "14 the server is stopping" {
			t.Errorf("the status is %s", got)
		}
		<-done
	})
}

// TestGRPCDelays checks that calls are limited as other delayed requests are.
func TestGRPCDelays(t *testing.T) {
	h := handlerOf(t, "ECHO_RESPONSE_DELAY=30s")
	h.waiting.Store(maxWaiting)
	status, _ := called(t, clients(t)["HTTP/2.0"], serve(t, h).URL+unaryPath, echoRequest("hello"))
	if status != "8 1000 responses are delayed already" || counted(h.metrics.limits, limitDelays) != 1 || h.waiting.Load() != maxWaiting {
		t.Errorf("the status is %s, counted are %v", status, series(t, h.metrics, "echo_limited_total"))
	}
}
