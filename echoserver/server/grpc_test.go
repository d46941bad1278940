package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpc"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// callCounts counts calls, controls, and rejections.
type callCounts struct {
	grpc.Metrics
	mutex  sync.Mutex
	counts map[string]int
}

// countCalls makes a handler count its calls in the returned counts.
func countCalls(h *handler) *callCounts {
	c := &callCounts{Metrics: h.calls.Metrics, counts: map[string]int{}}
	h.calls.Metrics = c
	return c
}

func (c *callCounts) count(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counts[what]++
}

// Called implements Metrics.
func (c *callCounts) Called(method, status string) {
	c.count(strings.TrimPrefix(method, "echo.v1.Echo/") + " " + status)
}

// Rejected implements Metrics.
func (c *callCounts) Rejected(reason string) { c.count("limit " + reason) }

// all returns the sorted names of all nonzero counts.
func (c *callCounts) all() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Sorted(maps.Keys(c.counts))
}

// TestIsCall checks which requests are treated as gRPC calls instead of being echoed.
func TestIsCall(t *testing.T) {
	server := serve(t, handlerOf(t))
	const echoed, rejected = "200 application/json", "415 "
	for name, c := range map[string]struct {
		proto, method, contentType string
		want                       string
	}{
		"gRPC":                      {"HTTP/2.0", "POST", "application/grpc", "200 application/grpc"},
		"with protobuf":             {"HTTP/2.0", "POST", "application/grpc+proto", "200 application/grpc+proto"},
		"with a parameter":          {"HTTP/2.0", "POST", "Application/gRPC; a=b", "200 application/grpc"},
		"with JSON":                 {"HTTP/2.0", "POST", "application/grpc+json", "200 application/grpc+json"},
		"with another encoding":     {"HTTP/2.0", "POST", "application/grpc+thrift", rejected},
		"a type that is not valid":  {"HTTP/2.0", "POST", "application/grpc;;", "200 application/grpc"},
		"gRPC-Web":                  {"HTTP/2.0", "POST", "application/grpc-web+proto", "200 application/grpc-web+proto"},
		"gRPC-Web over HTTP/1.1":    {"HTTP/1.1", "POST", "application/grpc-web", "200 application/grpc-web"},
		"gRPC-Web in base64":        {"HTTP/1.1", "POST", "application/grpc-web-text", rejected},
		"a stream of Connect":       {"HTTP/1.1", "POST", "application/connect+json", rejected}, // a unary method cannot be called as a stream
		"another method":            {"HTTP/2.0", "PUT", "application/grpc", echoed},
		"another type":              {"HTTP/2.0", "POST", "application/gr", echoed},
		"gRPC over HTTP/1.1":        {"HTTP/1.1", "POST", "application/grpc", echoed},
		"JSON, which could be both": {"HTTP/2.0", "POST", "application/json", echoed},
		"protobuf":                  {"HTTP/1.1", "POST", "application/proto", echoed},
	} {
		got := echotest.Send(t, echotest.Clients(t)[c.proto], c.method, server.URL+unaryPath, "", "Content-Type", c.contentType)
		if got := got.Status[:4] + got.Header.Get("Content-Type"); got != c.want {
			t.Errorf("%s: the response is %s, want %s", name, got, c.want)
		}
	}
}

// TestHandler_respondsWithGRPCStatus checks the responses to requests that the grpc-go client would never send.
func TestHandler_respondsWithGRPCStatus(t *testing.T) {
	server, client := serve(t, handlerOf(t)), echotest.Clients(t)["HTTP/2.0"]
	const control = "X-Echo-Grpc-Status"
	hello, tooMuch := string(echoRequest(t, "hello")), string(prefixed(echotest.Payload(maxGRPCMessage+1)))
	for name, c := range map[string]struct {
		path    string
		sent    string
		headers []string
		want    string // the expected prefix of the status
	}{
		"no message":              {unaryPath, "", nil, "12 unary request has zero messages"},
		"compressed":              {unaryPath, "\x01" + hello[1:], nil, "13 protocol error: sent compressed message"},
		"gzip":                    {unaryPath, hello, []string{"Grpc-Encoding", "gzip"}, `12 unknown compression "gzip"`},
		"identity":                {unaryPath, hello, []string{"Grpc-Encoding", "identity"}, "0 "},
		"not protobuf":            {unaryPath, "\x00\x00\x00\x00\x01\x0b", nil, "3 unmarshal message"},
		"a long bad timeout":      {unaryPath, hello, []string{"Grpc-Timeout", strings.Repeat("1", 10_000) + "S"}, "3 "},
		"a timeout that is over":  {unaryPath, hello, []string{"Grpc-Timeout", "1n"}, "4 "},
		"a control that is wrong": {unaryPath, hello, []string{control, "17"}, `3 x-echo-grpc-status: "17" is not a whole number from 0 to 16`},
		"two controls":            {unaryPath, hello, []string{control, "1", control, "2"}, "3 x-echo-grpc-status: specified more than once"},
		"a path with a query":     {unaryPath + "?a", hello, nil, "12 unknown method /echo.v1.Echo/Unary?a"},
		"an encoded path":         {"/echo.v1.Echo/%55nary", hello, nil, "12 unknown method /echo.v1.Echo/%2555nary"},
		"a path with a character": {"/%C3%BC%25", hello, nil, "12 unknown method /%25C3%25BC%2525"},
		"a reserved path":         {"/-/livez", hello, nil, "12 unknown method /-/livez"},
		"a method of health":      {"/grpc.health.v1.Health/List", hello, nil, "12 unknown method /grpc.health.v1.Health/List"},
		"too much":                {unaryPath, tooMuch, nil, "8 message size 1048577 is larger than configured max 1048576"},
		"reflection of too much":  {reflectionPath, tooMuch, nil, "8 message size 1048577 is larger than configured max 4096"},
		"health is not delayed":   {healthCheckProcedure, "\x00\x00\x00\x00\x00", []string{control, "14"}, "0 "},
	} {
		got, _ := called(t, client, server.URL+c.path, []byte(c.sent), c.headers...)
		if !strings.HasPrefix(got, c.want) || len(got) > 2*exchange.MaxLogged {
			t.Errorf("%s: the status is %s, want %s", name, got, c.want)
		}
	}
}

func TestHandler_logsGRPCStatus(t *testing.T) {
	h, log := loggedHandler(t)
	server, client := serve(t, h), echotest.Clients(t)["HTTP/2.0"]
	called(t, client, server.URL+healthCheckProcedure, prefixed(""))
	called(t, client, server.URL+unaryPath, nil)
	echotest.Send(t, client, http.MethodGet, server.URL+healthCheckProcedure, "")
	echotest.Until(t, "two lines", func() bool { return strings.Count(log.String(), "\n") == 2 })
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `"path":"`+unaryPath+`"`) || !strings.Contains(lines[0], `"grpcStatus":"UNIMPLEMENTED"`) ||
		strings.Contains(lines[1], "grpcStatus") {
		t.Errorf("the log is %s", log)
	}
}

// TestHandler_countsCallsByStatus checks which status codes are counted, including for calls that Connect rejects.
func TestHandler_countsCallsByStatus(t *testing.T) {
	const unary, web, stream = "application/json", "application/grpc-web+json", "application/connect+json"
	tooLong := strings.Repeat(" ", maxGRPCMessage+prefixSize+1)
	for name, c := range map[string]struct {
		path, contentType string
		sent              string
		headers           []string
		want              []string
	}{
		"Connect":                     {unaryPath, unary, `{"message": "hello"}`, nil, []string{"Unary OK"}},
		"Connect, an unknown field":   {unaryPath, unary, `{"none": 1}`, nil, []string{"Unary OK"}},
		"Connect, not JSON":           {unaryPath, unary, "hello", nil, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, too much":           {unaryPath, unary, tooLong, nil, []string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
		"Connect, compressed":         {unaryPath, unary, "{}", []string{"Content-Encoding", "gzip"}, []string{"Unary UNIMPLEMENTED"}},
		"Connect, another version":    {unaryPath, unary, "{}", []string{"Connect-Protocol-Version", "2"}, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, a requested code":   {unaryPath, unary, "{}", []string{"X-Echo-Grpc-Status", "11"}, []string{"Unary OUT_OF_RANGE"}},
		"Connect, an unknown method":  {"/a/b", unary, "{}", nil, []string{"other UNIMPLEMENTED"}},
		"Connect, text":               {unaryPath, "text/plain", "{}", nil, nil},
		"Connect, a stream as none":   {unaryPath, stream, "", nil, nil},
		"Connect, a stream":           {echov1.EchoClientStreamProcedure, stream, "", nil, []string{"ClientStream OK"}},
		"Connect, half a stream":      {echov1.EchoClientStreamProcedure, stream, "\x00", nil, []string{"ClientStream INTERNAL"}},
		"Connect, bidirectional":      {bidiPath, stream, "", nil, nil}, // not supported over HTTP/1.1
		"gRPC-Web":                    {unaryPath, web, string(prefixed("{}")), nil, []string{"Unary OK"}},
		"gRPC-Web, not JSON":          {unaryPath, web, string(prefixed("x")), nil, []string{"Unary INVALID_ARGUMENT"}},
		"gRPC-Web, no message":        {unaryPath, web, "", nil, []string{"Unary UNIMPLEMENTED"}},
		"gRPC-Web, an unknown method": {"/a/b", web, "", nil, []string{"other UNIMPLEMENTED"}},
		"gRPC-Web, too much": {unaryPath, web, string(prefixed(tooLong)), nil,
			[]string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
	} {
		h := handlerOf(t)
		counts := countCalls(h)
		headers := append([]string{"Content-Type", c.contentType}, c.headers...)
		if !slices.Contains(headers, "Connect-Protocol-Version") {
			headers = append(headers, "Connect-Protocol-Version", "1")
		}
		echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, serve(t, h).URL+c.path, c.sent, headers...)
		if got := counts.all(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the counts are %q, want %q", name, got, c.want)
		}
	}
}

// TestHandler_shortensJSONErrors checks that an error about invalid JSON does not contain the whole message.
func TestHandler_shortensJSONErrors(t *testing.T) {
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, serve(t, handlerOf(t)).URL+unaryPath,
		`"`+strings.Repeat("<", 100_000)+`"`, "Content-Type", "application/json", "Connect-Protocol-Version", "1")
	if got.StatusCode != http.StatusBadRequest || len(got.Text) > 10*exchange.MaxLogged ||
		!strings.Contains(got.Text, `"code":"invalid_argument"`) {
		t.Errorf("%s, of %d bytes: %.200s", got.Status, len(got.Text), got.Text)
	}
}

// TestHandler_describesCallWithoutSecrets checks that a response shows no secrets, and no pod if identity is disabled.
func TestHandler_describesCallWithoutSecrets(t *testing.T) {
	server := serve(t, handlerOf(t, "ECHO_IDENTITY=false", "POD_NAME=pod-1", "ECHO_INFO_COLOR=blue"))
	sent := []string{"X-A", "\xff", "Authorization", "Bearer hunter2"}
	_, ours := called(t, echotest.Clients(t)["HTTP/2.0"], server.URL+unaryPath, prefixed(""), sent...)
	_, theirs := called(t, echotest.Clients(t)["HTTP/2.0"], server.URL+gatewayAPI, prefixed(""), sent...)
	echo, conformance := &echov1.EchoResponse{}, &grpcecho.EchoResponse{}
	if err := errors.Join(proto.Unmarshal(ours, echo), proto.Unmarshal(theirs, conformance)); err != nil {
		t.Fatal(err)
	}
	info := &echov1.Server{Info: map[string]string{"COLOR": "blue"}}
	if got := echo.Call; !proto.Equal(got.Server, info) || got.RemoteAddress+got.ClientAddress != "" {
		t.Errorf("without identity, the response has %v", got)
	}
	if got := conformance.Assertions.Context; !proto.Equal(got, &grpcecho.Context{}) {
		t.Errorf("without identity, the response has %v", got)
	}
	metadata, headers := map[string]string{}, map[string]string{}
	for _, each := range echo.Call.Metadata {
		metadata[each.Key] = each.Value
	}
	for _, each := range conformance.Assertions.Headers {
		headers[each.Key] = each.Value
	}
	for _, got := range []map[string]string{metadata, headers} {
		if got["x-a"] != "\uFFFD" || got["authorization"] != "Bearer [redacted: 7 bytes, sha256 f52fbd32]" {
			t.Errorf("the metadata are %q", got)
		}
	}
}

// TestHandler_reportsTLSOfCall checks the TLS properties that a response reports.
func TestHandler_reportsTLSOfCall(t *testing.T) {
	server := serveTLS(t, "")
	client := tlsClients(t, server.config())["HTTP/2.0"]
	_, ours := called(t, client, "https://"+server.address+unaryPath, prefixed(""))
	_, theirs := called(t, client, "https://"+server.address+gatewayAPI, prefixed(""))
	echo, conformance := &echov1.EchoResponse{}, &grpcecho.EchoResponse{}
	if err := errors.Join(proto.Unmarshal(ours, echo), proto.Unmarshal(theirs, conformance)); err != nil {
		t.Fatal(err)
	}
	const suite = "TLS_AES_128_GCM_SHA256"
	if got := echo.Call.Tls; !proto.Equal(got, &echov1.TLS{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite}) {
		t.Errorf("of TLS it reports %v", got)
	}
	want := &grpcecho.TLSAssertions{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite}
	if got := conformance.Assertions.TlsAssertions; !proto.Equal(got, want) {
		t.Errorf("of TLS it reports %v", got)
	}
}

func TestHandler_countsAbortedCallAsCanceled(t *testing.T) {
	h := handlerOf(t)
	counts := countCalls(h)
	call := begin(t, echotest.Clients(t)["HTTP/2.0"], serve(t, h).URL+bidiPath, echoRequest(t, "hello"))
	call.receive(t)
	_ = call.body.CloseWithError(io.ErrClosedPipe) // the client resets the stream
	echotest.Until(t, "the call has ended", func() bool { return h.metrics.inFlight.Load() == 0 })
	if got := counts.all(); !slices.Equal(got, []string{"BidiStream CANCELLED"}) {
		t.Errorf("counted are %q", got)
	}
}

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

// These constants repeat unexported constants of the grpc package.
const (
	grpcType             = "application/grpc"
	grpcWebType          = "application/grpc-web"
	healthCheckProcedure = "/grpc.health.v1.Health/Check"
	maxGRPCMessage       = 1 << 20
	messageTimeout       = 30 * time.Second
	betweenMessages      = 10 * time.Minute
	messageFactor        = 3
	callCost             = 8 << 10
	streamCost           = 8 << 10
	prefixSize           = 5
)

const (
	unaryPath      = echov1.EchoUnaryProcedure
	bidiPath       = echov1.EchoBidiStreamProcedure
	watchPath      = "/grpc.health.v1.Health/Watch"
	reflectionPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	gatewayAPI     = grpcecho.GrpcEchoEchoProcedure
)

// prefixed returns a gRPC message with its length prefix.
func prefixed(message string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// sentMessage returns a message in the wire format of gRPC.
func sentMessage(t testing.TB, message proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return prefixed(string(data))
}

// echoRequest returns an EchoRequest with the given message, in the wire format of gRPC.
func echoRequest(t testing.TB, message string) []byte {
	t.Helper()
	return sentMessage(t, &echov1.EchoRequest{Message: message})
}

// calling is the client's side of a gRPC call in progress.
type calling struct {
	echotest.Reply
	body *io.PipeWriter
}

// begin starts a call in which the client may send more messages. It waits for the response header, which the server sends with its first
// message or at the end of the call.
func begin(t *testing.T, client *http.Client, url string, first []byte, headers ...string) *calling {
	t.Helper()
	reader, writer := io.Pipe()
	go func() { _, _ = writer.Write(first) }() // the call may end before the write
	t.Cleanup(func() { _ = writer.Close() })
	c := post(t, client, url, reader, headers...)
	c.body = writer
	return c
}

// listen starts a call in which the client sends one message.
func listen(t *testing.T, client *http.Client, url string, sent []byte, headers ...string) *calling {
	t.Helper()
	return post(t, client, url, bytes.NewReader(sent), headers...)
}

// post sends a gRPC request and returns its response.
func post(t *testing.T, client *http.Client, url string, body io.Reader, headers ...string) *calling {
	t.Helper()
	if !slices.Contains(headers, "Content-Type") {
		headers = append(headers, "Content-Type", grpcType)
	}
	return &calling{Reply: echotest.Open(t, client, http.MethodPost, url, body, headers...)}
}

// receive returns the next message, or nil at the end of the response.
func (c *calling) receive(t *testing.T) []byte {
	t.Helper()
	var prefix [prefixSize]byte
	_, err := io.ReadFull(c.Body, prefix[:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	message := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	if _, errRead := io.ReadFull(c.Body, message); err != nil || errRead != nil || prefix[0] != 0 {
		t.Fatalf("the message begins with %v: %v, %v", prefix, err, errRead)
	}
	return message
}

// status returns the code and the message of a call that has ended.
func (c *calling) status(t *testing.T) string {
	t.Helper()
	if rest, err := io.ReadAll(c.Body); err != nil || len(rest) > 0 {
		t.Errorf("before the end come %q, %v", rest, err)
	}
	return c.Trailer.Get("Grpc-Status") + " " + c.Trailer.Get("Grpc-Message")
}

// called makes a call with one message. It returns the status and the last message of the response.
func called(t *testing.T, client *http.Client, url string, sent []byte, headers ...string) (status string, response []byte) {
	t.Helper()
	c := listen(t, client, url, sent, headers...)
	for message := c.receive(t); message != nil; message = c.receive(t) {
		response = message
	}
	return c.status(t), response
}

// http2InMemory returns an HTTP/2 client for a server with an in-memory listener. The client does not read ahead.
func http2InMemory(t *testing.T, listener *echotest.MemoryListener) *http.Client {
	transport := &http.Transport{Protocols: echotest.OnlyHTTP2(), HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window},
		DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.Dial(t), nil }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestHandler_reservesMemoryForMessages checks how much memory is reserved for a call's messages, and when it is released.
func TestHandler_reservesMemoryForMessages(t *testing.T) {
	const size, idle = 100_000, callCost + streamCost
	h := handlerOf(t)
	used := func() int64 { return h.budget.Requests.Used.Load() }
	call := begin(t, echotest.Clients(t)["HTTP/2.0"], serve(t, h).URL+bidiPath, echoRequest(t, echotest.Payload(size)))
	call.receive(t)
	echotest.Until(t, "the first message is released", func() bool { return used() == idle })
	second := echoRequest(t, echotest.Payload(size))
	if _, err := call.body.Write(second[:size/2]); err != nil {
		t.Fatal(err)
	}
	echotest.Until(t, "half a message is acquired", func() bool { return used() == idle+messageFactor*size/2 })
	if _, err := call.body.Write(second[size/2:]); err != nil {
		t.Fatal(err)
	}
	call.receive(t)
	echotest.Until(t, "the second message is released", func() bool { return used() == idle })
	_ = call.body.Close() // never fails
	if got := call.status(t); got != "0 " {
		t.Errorf("the status is %s", got)
	}
	echotest.Until(t, "the call is released", func() bool { return used() == 0 })
}

// TestHandler_rejectsCallsOverBudget checks that calls that exceed the budget are rejected.
func TestHandler_rejectsCallsOverBudget(t *testing.T) {
	large, short := echotest.Payload(100_000), "hello"
	for name, c := range map[string]struct {
		path    string
		sent    string
		limit   int64
		headers []string
		counted string
	}{
		"a message":                 {unaryPath, large, 400_000, nil, "Unary RESOURCE_EXHAUSTED"},
		"a call":                    {unaryPath, short, callCost, nil, "Unary RESOURCE_EXHAUSTED"},
		"a stream":                  {bidiPath, short, callCost + streamCost, nil, "BidiStream RESOURCE_EXHAUSTED"},
		"a description":             {unaryPath, short, 80_000, []string{"X-A", echotest.Payload(14_000)}, "Unary RESOURCE_EXHAUSTED"},
		"a description for Gateway": {gatewayAPI, "", 80_000, []string{"X-A", echotest.Payload(14_000)}, gatewayAPI[1:] + " RESOURCE_EXHAUSTED"},
		"a delay": {unaryPath, short, callCost*4/3 + exchange.WaitingCost, []string{"X-Echo-Delay", "1s"},
			"Unary RESOURCE_EXHAUSTED"},
	} {
		h := handlerOf(t)
		h.budget.Requests.Limit = c.limit
		counts := countCalls(h)
		status, _ := called(t, echotest.Clients(t)["HTTP/2.0"], serve(t, h).URL+c.path, echoRequest(t, c.sent), c.headers...)
		if status != "8 the server does not have enough memory for the message" ||
			!slices.Equal(counts.all(), []string{c.counted, "limit " + transport.LimitMemory}) {
			t.Errorf("%s: the status is %s, the counts are %q", name, status, counts.all())
		}
		echotest.Until(t, name+" is released", func() bool { return h.budget.Requests.Used.Load() == 0 })
	}
}

// FuzzCall sends arbitrary data to the gRPC methods. All memory must be released, and the response must be bounded and contain no secrets.
func FuzzCall(f *testing.F) {
	paths := []string{unaryPath, echov1.EchoServerStreamProcedure, echov1.EchoClientStreamProcedure, bidiPath, gatewayAPI,
		healthCheckProcedure, reflectionPath}
	types := []string{"application/grpc", "application/grpc+json", "application/grpc-web", "application/connect+json", "application/json"}
	f.Add(uint(0), uint(0), []byte("\x00\x00\x00\x00\x07\x0a\x05hello"), "caf\xe9")
	f.Add(uint(1), uint(0), []byte("\x00\x00\x00\x00\x05\x0a\x01a\x18\x03"), "a")
	f.Add(uint(3), uint(0), []byte("\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"), "\xff\xfe")
	f.Add(uint(0), uint(4), []byte(`{"message": "hello", "data": "AA=="}`), "caf\xe9")
	f.Add(uint(6), uint(0), []byte("\x00\x00\x00\x00\x06\x22\x04echo"), "")
	const credential = "credential-\xe9-9b2d"
	f.Fuzz(func(t *testing.T, path, contentType uint, body []byte, value string) {
		h := handlerOf(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // ends a stream that sends responses at regular intervals
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, paths[path%uint(len(paths))], bytes.NewReader(body))
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", types[contentType%uint(len(types))])
		r.Header.Set("Connect-Protocol-Version", "1")
		r.Header.Set("X-Name", value)
		r.Header.Set("X-Api-Key", credential)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if used := h.budget.Requests.Used.Load(); used != 0 {
			t.Errorf("%d bytes remain acquired", used)
		}
		expectNoSecrets(t, w.Body.String(), string(body)+value, "credential-", base64.RawStdEncoding.EncodeToString([]byte(credential)))
		if w.Body.Len() > 4*len(body)+6*len(value)+10*exchange.MaxLogged && r.RequestURI != echov1.EchoServerStreamProcedure {
			t.Errorf("the response to %d bytes has %d", len(body), w.Body.Len())
		}
	})
}
