package grpc

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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// window is the size of the flow-control windows.
const window = 64 << 10

// callServer serves calls, and counts them, and rejections.
type callServer struct {
	*Handler
	pool             transport.Pool
	ending, notReady chan struct{}
	draining         atomic.Bool
	inFlight         atomic.Int64
	mutex            sync.Mutex
	counts           map[string]int
}

func newCallServer() *callServer {
	s := &callServer{pool: transport.Pool{Limit: 1 << 40}, ending: make(chan struct{}), notReady: make(chan struct{}),
		counts: map[string]int{}}
	s.Handler = NewHandler(Config{Describer: &describe.Describer{ShowIdentity: true, Draining: s.draining.Load},
		Chooser: controls.NewChooser(controls.Safe, controls.Controls{}, nil, nil),
		Delays:  &exchange.Delays{Ending: s.ending, Rejected: s.rejected}, Called: s.called, NotReady: s.notReady, Ending: s.ending,
		Rejected: s.rejected})
	return s
}

func (s *callServer) count(what string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.counts[what]++
}

func (s *callServer) called(method, status string) {
	s.count(strings.TrimPrefix(method, "echo.v1.Echo/") + " " + status)
}

func (s *callServer) rejected(reason string) { s.count("limit " + reason) }

// all returns the sorted names of all nonzero counts.
func (s *callServer) all() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.counts))
}

// ServeHTTP implements http.Handler.
func (s *callServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	e := exchange.New(w, r)
	e.Pool, e.Count = &s.pool, func(string, string) {}
	size, _ := transport.MeasureHeader(r)
	e.HeaderSize = size.Bytes
	defer e.End()
	s.Serve(e, r)
}

// serve serves connections until the end of the test. The handler must extend the server's time limits for streams.
func (s *callServer) serve(t *testing.T, listener net.Listener) {
	t.Helper()
	protocols := echotest.OnlyHTTP2()
	protocols.SetHTTP1(true)
	server := &http.Server{Handler: s, Protocols: protocols, ReadTimeout: messageTimeout, WriteTimeout: exchange.ResponseTimeout,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: window, MaxReceiveBufferPerStream: window}}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// serveLocally serves real connections, and returns the server's URL.
func (s *callServer) serveLocally(t *testing.T) string {
	t.Helper()
	listener := echotest.ListenLocally(t)
	s.serve(t, listener)
	return "http://" + listener.Addr().String()
}

// serveInMemory serves in-memory connections, and returns an HTTP/2 client, and the listener.
func (s *callServer) serveInMemory(t *testing.T) (*http.Client, *echotest.MemoryListener) {
	t.Helper()
	listener := echotest.NewMemoryListener()
	s.serve(t, listener)
	return listener.HTTP2Client(t), listener
}

// TestIsCall checks which requests are treated as gRPC calls instead of being echoed.
func TestIsCall(t *testing.T) {
	for name, c := range map[string]struct {
		protoMajor          int
		method, contentType string
		want                bool
	}{
		"with a parameter":          {2, "POST", "Application/gRPC; a=b", true},
		"with another encoding":     {2, "POST", "application/grpc+thrift", true},
		"gRPC-Web over HTTP/1.1":    {1, "POST", "application/grpc-web+proto", true},
		"a stream of Connect":       {1, "POST", "application/connect+json", true},
		"another method":            {2, "PUT", "application/grpc", false},
		"another type":              {2, "POST", "application/gr", false},
		"gRPC over HTTP/1.1":        {1, "POST", "application/grpc", false},
		"JSON, which could be both": {2, "POST", "application/json", false},
		"protobuf":                  {1, "POST", "application/proto", false},
	} {
		r := &http.Request{Method: c.method, ProtoMajor: c.protoMajor, Header: http.Header{"Content-Type": {c.contentType}}}
		if got := IsCall(r); got != c.want {
			t.Errorf("%s: it is a call: %t", name, got)
		}
	}
}

// TestHandler_answersEachMediaType checks the media types of responses, including to types that only nearly are those of calls.
func TestHandler_answersEachMediaType(t *testing.T) {
	url := newCallServer().serveLocally(t)
	for sent, want := range map[string]string{"application/grpc": "200 application/grpc", "application/grpc+proto": "200 application/grpc+proto",
		"Application/gRPC; a=b": "200 application/grpc", "application/grpc+json": "200 application/grpc+json",
		"application/grpc;;": "200 application/grpc", "application/grpc-web+proto": "200 application/grpc-web+proto",
		"application/grpc+thrift": "415 ", "application/grpc-web-text": "415 ", "application/connect+json": "415 "} {
		got := echotest.Send(t, echotest.Clients(t)["HTTP/2.0"], http.MethodPost, url+unaryPath, "", "Content-Type", sent)
		if got := got.Status[:4] + got.Header.Get("Content-Type"); got != want {
			t.Errorf("%s: the response is %s, want %s", sent, got, want)
		}
	}
}

// TestHandler_describesCall sends metadata that is not UTF-8, which gRPC forbids, but which servers on the path do not have to check for. The
// response must show no secrets, and no pod if identity is disabled.
func TestHandler_describesCall(t *testing.T) {
	s := newCallServer()
	redaction, err := describe.ParseRedaction("X-Custom")
	if err != nil {
		t.Fatal(err)
	}
	s.Describer.Redaction, s.Describer.ShowIdentity = redaction, false
	s.Describer.Identity = describe.Identify(map[string]string{"ECHO_POD_NAME": "pod-1", "ECHO_INFO_COLOR": "blue"})
	url := s.serveLocally(t)
	headers := []string{"X-Name", "a", "X-Name", "caf\xe9", "X-Name-Bin", "6Q", "Authorization", "Bearer hunter2", "X-Custom", "hunter2\xe9"}
	_, ours := called(t, echotest.Clients(t)["HTTP/2.0"], url+unaryPath, echoRequest(t, "hello"), headers...)
	_, theirs := called(t, echotest.Clients(t)["HTTP/2.0"], url+gatewayAPI, echotest.GRPCMessage(""), headers...)
	byConnect := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, url+unaryPath, `{"message":"hello"}`,
		append(headers, "Connect-Protocol-Version", "1", "Content-Type", "application/json", "X-Echo-Delay", "1ms")...)
	echo, connectEcho, conformance := &echov1.EchoResponse{}, &echov1.EchoResponse{}, &grpcecho.EchoResponse{}
	err = errors.Join(proto.Unmarshal(ours, echo), proto.Unmarshal(theirs, conformance), protojson.Unmarshal([]byte(byConnect.Text), connectEcho))
	if err != nil {
		t.Fatal(err)
	}
	want := []*echov1.Raw{{Where: "metadata", Name: "x-name", Index: 1, Value: []byte("caf\xe9")}}
	for name, call := range map[string]*echov1.Call{"gRPC": echo.Call, "Connect": connectEcho.Call} {
		if diff := cmp.Diff(want, call.Raw, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if info := (&echov1.Server{Info: map[string]string{"COLOR": "blue"}}); !proto.Equal(call.Server, info) ||
			call.RemoteAddress+call.ClientAddress != "" {
			t.Errorf("%s: without identity, the response has %v", name, call)
		}
		keys := map[string]int{}
		for _, each := range call.Metadata {
			keys[each.Key]++
		}
		if keys["host"] != 0 || keys["content-type"] != 1 {
			t.Errorf("%s: the metadata are %v", name, call.Metadata)
		}
	}
	if applied := byConnect.Header.Get("X-Echo-Applied"); applied != "delay=1ms" {
		t.Errorf("Connect: applied is %q", applied)
	}
	if got := conformance.Assertions.Context; !proto.Equal(got, &grpcecho.Context{}) {
		t.Errorf("without identity, the response has %v", got)
	}
	metadata, theirHeaders := map[string]string{}, map[string]string{}
	for _, each := range echo.Call.Metadata {
		metadata[each.Key] = each.Value
	}
	for _, each := range conformance.Assertions.Headers {
		theirHeaders[each.Key] = each.Value
	}
	for _, got := range []map[string]string{metadata, theirHeaders} {
		if got["x-name"] != "caf\uFFFD" || got["authorization"] != "Bearer [redacted: 7 bytes, sha256 f52fbd32]" ||
			!strings.HasPrefix(got["x-custom"], "[redacted: ") {
			t.Errorf("the metadata are %q", got)
		}
	}
}

// TestUnary compares the whole response to a call.
func TestUnary(t *testing.T) {
	s := newCallServer()
	s.Describer.Identity = describe.Identify(map[string]string{"ECHO_POD_NAMESPACE": "ns", "ECHO_POD_NAME": "pod-1", "ECHO_NODE_NAME": "node",
		"ECHO_SERVICE_NAME": "service", "ECHO_INGRESS_NAME": "ingress", "ECHO_POD_IP": "10.0.0.1", "ECHO_HOST_IP": "10.0.0.2",
		"ECHO_INFO_COLOR": "blue"})
	trusted, err := describe.ParseTrustedProxies("127.0.0.1")
	s.Describer.TrustedProxies, s.Describer.Version = trusted, "v1"
	s.draining.Store(true)
	url := s.serveLocally(t)
	sent := sentMessage(t, &echov1.EchoRequest{Message: "grüße", Data: []byte{0, 255}})
	_, data := called(t, echotest.Clients(t)["HTTP/2.0"], url+unaryPath, sent, "X-Request-Id", "id-1", "X-Forwarded-For", "192.0.2.1",
		"X-A", "1", "X-A", "2")
	got := &echov1.EchoResponse{}
	if err := errors.Join(err, proto.Unmarshal(data, got)); err != nil || !strings.HasPrefix(got.Call.RemoteAddress, "127.0.0.1:") {
		t.Fatalf("the response is %v, %v", got, err)
	}
	var metadata []string
	for _, each := range got.Call.Metadata {
		metadata = append(metadata, each.Key+"="+each.Value)
	}
	if !strings.Contains(strings.Join(metadata, " "), " x-a=1 x-a=2 ") || !slices.Contains(metadata, "content-type=application/grpc") {
		t.Errorf("the metadata are %q", metadata)
	}
	want := &echov1.EchoResponse{Message: "grüße", Data: []byte{0, 255}, Number: 1, Call: &echov1.Call{Method: unaryPath,
		Authority: strings.TrimPrefix(url, "http://"), RequestId: "id-1", RemoteAddress: got.Call.RemoteAddress, ClientAddress: "192.0.2.1",
		Metadata: got.Call.Metadata, Server: &echov1.Server{Namespace: "ns", Ingress: "ingress", Service: "service", Pod: "pod-1", Node: "node",
			PodIp: "10.0.0.1", HostIp: "10.0.0.2", Version: "v1", Draining: true, Info: map[string]string{"COLOR": "blue"}}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestServerStream checks when the responses arrive, and that only the first one describes the call.
func TestServerStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := newCallServer().serveInMemory(t)
		for _, count := range []uint32{0, 3, maxStreamCount} {
			stream := post(t, client, "http://a"+streamPath, bytes.NewReader(sentMessage(t,
				&echov1.ServerStreamRequest{Message: "hello", Data: []byte("x"), Count: count, IntervalMilliseconds: 29_000})))
			began := time.Now()
			for i := range max(1, count) {
				got := &echov1.EchoResponse{}
				if err := proto.Unmarshal(stream.receive(t), got); err != nil || got.Message != "hello" || string(got.Data) != "x" ||
					got.Number != uint64(i+1) || (got.Call != nil) != (i == 0) || time.Since(began) != time.Duration(i)*29*time.Second {
					t.Fatalf("after %s comes %v, %v", time.Since(began), got, err)
				}
			}
			if got := stream.status(t); got != "0 " {
				t.Errorf("the status is %s", got)
			}
		}
	})
}

// TestEchoService_receivesStreams sends many messages in streams of both kinds.
func TestEchoService_receivesStreams(t *testing.T) {
	url, client := newCallServer().serveLocally(t), echotest.Clients(t)["HTTP/2.0"]
	sent := bytes.Repeat(sentMessage(t, &echov1.EchoRequest{Message: "hel", Data: []byte("lo")}), 1000)
	status, data := called(t, client, url+echov1.EchoClientStreamProcedure, sent)
	sum := &echov1.ClientStreamResponse{}
	if err := proto.Unmarshal(data, sum); err != nil || status != "0 " || sum.Messages != 1000 || sum.Bytes != 5000 ||
		sum.Sha256 != "d036eecd4917a682ea94570fb6f7a6b306494bcaa54916113072c098b8902875" || sum.Call.Method != echov1.EchoClientStreamProcedure {
		t.Errorf("the response is %v, %v, with the status %s", sum, err, status)
	}
	status, data = called(t, client, url+bidiPath, append(sent, echoRequest(t, echotest.Payload(maxMessage-10))...))
	last := &echov1.EchoResponse{}
	if err := proto.Unmarshal(data, last); err != nil || status != "0 " || last.Number != 1001 || len(last.Message) != maxMessage-10 ||
		last.Call != nil {
		t.Errorf("the last response is %.200v, %v, with the status %s", last, err, status)
	}
}

// TestNewHandler_servesReflection lists the services, and asks for the file of one, in both versions of the protocol.
func TestNewHandler_servesReflection(t *testing.T) {
	url, client := newCallServer().serveLocally(t), echotest.Clients(t)["HTTP/2.0"]
	for _, path := range []string{reflectionPath, strings.Replace(reflectionPath, "v1", "v1alpha", 1)} {
		_, list := called(t, client, url+path, echotest.GRPCMessage("\x3a\x00"))
		for _, service := range []string{echov1.EchoName, grpcecho.GrpcEchoName, "grpc.health.v1.Health", reflectionPath[1:35], "v1alpha"} {
			if !strings.Contains(string(list), service) {
				t.Errorf("%s: %s is not in the list %q", path, service, list)
			}
		}
		_, file := called(t, client, url+path, echotest.GRPCMessage("\x22\x0cecho.v1.Echo"))
		if !strings.Contains(string(file), "ServerStreamRequest") {
			t.Errorf("%s: the file is %q", path, file)
		}
	}
}

// TestHandler_respondsWithGRPCStatus checks the responses to requests that the grpc-go client would never send.
func TestHandler_respondsWithGRPCStatus(t *testing.T) {
	url, client := newCallServer().serveLocally(t), echotest.Clients(t)["HTTP/2.0"]
	const control = "X-Echo-Grpc-Status"
	hello, tooMuch := string(echoRequest(t, "hello")), string(echotest.GRPCMessage(echotest.Payload(maxMessage+1)))
	streamRequest := func(count, interval uint32, message string) string {
		return string(sentMessage(t, &echov1.ServerStreamRequest{Count: count, IntervalMilliseconds: interval, Message: message}))
	}
	for name, c := range map[string]struct {
		path    string
		sent    string
		headers []string
		want    string // the expected prefix of the status
	}{
		"no message":              {unaryPath, "", nil, "12 unary request has zero messages"},
		"a long bad timeout":      {unaryPath, hello, []string{"Grpc-Timeout", strings.Repeat("1", 10_000) + "S"}, "3 "},
		"a timeout that is over":  {unaryPath, hello, []string{"Grpc-Timeout", "1n"}, "4 "},
		"a control that is wrong": {unaryPath, hello, []string{control, "17"}, `3 x-echo-grpc-status: "17" is not a whole number from 0 to 16`},
		"two controls":            {unaryPath, hello, []string{control, "1", control, "2"}, "3 x-echo-grpc-status: specified more than once"},
		"an encoded path":         {"/echo.v1.Echo/%55nary", hello, nil, "12 unknown method /echo.v1.Echo/%2555nary"},
		"a reserved path":         {"/-/livez", hello, nil, "12 unknown method /-/livez"},
		"too much":                {unaryPath, tooMuch, nil, "8 message size 1048577 is larger than configured max 1048576"},
		"a control":               {unaryPath, "", []string{control, "14"}, "14 requested by x-echo-grpc-status"},
		"a control of a stream":   {bidiPath, "", []string{control, "5"}, "5 "},
		"too many responses":      {streamPath, streamRequest(1001, 0, ""), nil, "3 count: 1001 is not a number from 0 to 1000"},
		"responses too seldom":    {streamPath, streamRequest(1, 30_001, ""), nil, "3 interval_milliseconds: 30001 is not"},
		"responses too large":     {streamPath, streamRequest(1000, 0, echotest.Payload(17<<10)), nil, "3 count: 1000 responses of 17408 bytes"},
		"health":                  {healthCheckProcedure, string(echotest.GRPCMessage("\x0a\x0cecho.v1.Echo")), nil, "0 "},
		"health of Gateway API's": {healthCheckProcedure, string(echotest.GRPCMessage("\x0a\x34" + grpcecho.GrpcEchoName)), nil, "0 "},
		"health of another":       {healthCheckProcedure, string(echotest.GRPCMessage("\x0a\x05other")), nil, "5 unknown service other"},
		"a list of health":        {"/grpc.health.v1.Health/List", hello, nil, "12 unknown method"},
		"health is not delayed":   {healthCheckProcedure, "\x00\x00\x00\x00\x00", []string{control, "14"}, "0 "},
	} {
		got, _ := called(t, client, url+c.path, []byte(c.sent), c.headers...)
		if !strings.HasPrefix(got, c.want) || len(got) > 2*exchange.MaxLogged {
			t.Errorf("%s: the status is %s, want %s", name, got, c.want)
		}
	}
}

// TestHandler_countsCallsByStatus checks which status codes are counted, including for calls that Connect rejects.
func TestHandler_countsCallsByStatus(t *testing.T) {
	const unary, web, stream = "application/json", "application/grpc-web+json", "application/connect+json"
	tooLong, threeTimes := strings.Repeat(" ", maxMessage+prefixSize+1), string(echotest.GRPCMessage(`{"count": 3}`))
	for name, c := range map[string]struct {
		path, contentType string
		sent              string
		headers           []string
		want              []string
	}{
		"Connect":                   {unaryPath, unary, `{"message": "hello"}`, nil, []string{"Unary OK"}},
		"Connect, an unknown field": {unaryPath, unary, `{"none": 1}`, nil, []string{"Unary OK"}},
		"Connect, not JSON":         {unaryPath, unary, "hello", nil, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, too much":         {unaryPath, unary, tooLong, nil, []string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
		"Connect, a long check": {"/grpc.health.v1.Health/Check", unary, strings.Repeat(" ", maxShortMessage+prefixSize+1), nil,
			[]string{"grpc.health.v1.Health/Check RESOURCE_EXHAUSTED", "limit grpc_message"}},
		"Connect, compressed":        {unaryPath, unary, "{}", []string{"Content-Encoding", "gzip"}, []string{"Unary UNIMPLEMENTED"}},
		"Connect, another version":   {unaryPath, unary, "{}", []string{"Connect-Protocol-Version", "2"}, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, a requested code":  {unaryPath, unary, "{}", []string{"X-Echo-Grpc-Status", "11"}, []string{"Unary OUT_OF_RANGE"}},
		"Connect, an unknown method": {"/a/b", unary, "{}", nil, []string{"other UNIMPLEMENTED"}},
		"Connect, a stream as none":  {unaryPath, stream, "", nil, nil},
		"Connect, a stream":          {echov1.EchoClientStreamProcedure, stream, "", nil, []string{"ClientStream OK"}},
		"Connect, a long stream":     {streamPath, stream, threeTimes, nil, []string{"ServerStream OK"}},
		"gRPC-Web, a long stream":    {streamPath, web, threeTimes, nil, []string{"ServerStream OK"}},
		"Connect, bidirectional":     {bidiPath, stream, "", nil, nil}, // not supported over HTTP/1.1
		"gRPC-Web":                   {unaryPath, web, string(echotest.GRPCMessage("{}")), nil, []string{"Unary OK"}},
		"gRPC-Web, too much": {unaryPath, web, string(echotest.GRPCMessage(tooLong)), nil,
			[]string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
	} {
		s := newCallServer()
		headers := append([]string{"Content-Type", c.contentType}, c.headers...)
		if !slices.Contains(headers, "Connect-Protocol-Version") {
			headers = append(headers, "Connect-Protocol-Version", "1")
		}
		echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, s.serveLocally(t)+c.path, c.sent, headers...)
		if got := s.all(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the counts are %q, want %q", name, got, c.want)
		}
	}
}

// TestHandler_shortensJSONErrors checks that an error about invalid JSON does not contain the whole message.
func TestHandler_shortensJSONErrors(t *testing.T) {
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, newCallServer().serveLocally(t)+unaryPath,
		`"`+strings.Repeat("<", 100_000)+`"`, "Content-Type", "application/json", "Connect-Protocol-Version", "1")
	if got.StatusCode != http.StatusBadRequest || len(got.Text) > 10*exchange.MaxLogged ||
		!strings.Contains(got.Text, `"code":"invalid_argument"`) {
		t.Errorf("%s, of %d bytes: %.200s", got.Status, len(got.Text), got.Text)
	}
}

func TestHandler_countsAbortedCallAsCanceled(t *testing.T) {
	s := newCallServer()
	call := begin(t, echotest.Clients(t)["HTTP/2.0"], s.serveLocally(t)+bidiPath, echoRequest(t, "hello"))
	call.receive(t)
	_ = call.body.CloseWithError(io.ErrClosedPipe) // the client resets the stream
	echotest.Until(t, "the call has ended", func() bool { return s.inFlight.Load() == 0 })
	if got := s.all(); !slices.Equal(got, []string{"BidiStream CANCELLED"}) {
		t.Errorf("counted are %q", got)
	}
}

// TestHandler_endsCallsWithServer checks that a stopping server ends streams with a status, and ends delays early.
func TestHandler_endsCallsWithServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCallServer()
		client, _ := s.serveInMemory(t)
		stream := begin(t, client, "http://a"+bidiPath, echoRequest(t, "hello"))
		if stream.receive(t) == nil {
			t.Error("there is no first message")
		}
		delayed := make(chan string)
		go func() {
			status, _ := called(t, client, "http://a"+unaryPath, echoRequest(t, "hello"), "X-Echo-Delay", "30s")
			delayed <- status
		}()
		synctest.Wait()
		began := time.Now()
		close(s.ending)
		if got := stream.status(t); got != "14 the server is stopping" {
			t.Errorf("the status is %s", got)
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
		"no end of a request":           {watchPath, echotest.GRPCMessage(""), nil, 30 * time.Second, "4 no message was received in time"},
		"the client's deadline":         {bidiPath, nil, []string{"Grpc-Timeout", "7S"}, 7 * time.Second, overdue},
		"the deadline in a delay":       {bidiPath, nil, []string{"Grpc-Timeout", "7S", "X-Echo-Delay", "8s"}, 7 * time.Second, overdue},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newCallServer()
			client, _ := s.serveInMemory(t)
			began := time.Now()
			call := begin(t, client, "http://a"+c.path, c.first, c.headers...)
			call.receive(t)
			if got := call.status(t); got != c.status || time.Since(began) != c.want {
				t.Errorf("%s: after %s the status is %s", name, time.Since(began), got)
			}
			synctest.Wait()
			if s.inFlight.Load() != 0 {
				t.Errorf("%s: the request is in flight", name)
			}
		})
	}
}

// TestHandler_limitsUploadOfRejectedCall checks how long an HTTP/1.1 client may take to send the message of a rejected call.
func TestHandler_limitsUploadOfRejectedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, listener := newCallServer().serveInMemory(t)
		began := time.Now()
		got := echotest.Exchanged(t, listener.Dial(t), "POST "+unaryPath+" HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc-web\r\n"+
			"X-Echo-Grpc-Status: 5\r\nContent-Length: 100\r\n\r\n")
		if took := time.Since(began); !strings.Contains(got, "\r\nGrpc-Status: 5\r\n") || took > exchange.StallTimeout+time.Second {
			t.Errorf("after %s, the connection ends with %q", took, got)
		}
	})
}

// TestHandler_endsUnreadCalls checks that the server ends a response that the client does not read, but no stream that is merely idle.
func TestHandler_endsUnreadCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCallServer()
		client, _ := s.serveInMemory(t)
		for path, request := range map[string]proto.Message{
			unaryPath:  &echov1.EchoRequest{Message: echotest.Payload(10 * window)},
			streamPath: &echov1.ServerStreamRequest{Message: echotest.Payload(16 << 10), Count: 1000},
		} {
			began := time.Now()
			post(t, client, "http://a"+path, bytes.NewReader(sentMessage(t, request)))
			for s.inFlight.Load() != 0 {
				<-time.After(time.Second)
			}
			if took := time.Since(began); took < exchange.StallTimeout || took > exchange.StallTimeout+2*time.Second {
				t.Errorf("%s: the response ended after %s", path, took)
			}
		}
		if got := s.all(); !slices.Equal(got, []string{"ServerStream CANCELLED", "Unary CANCELLED"}) {
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

// TestHandler_excludesReadingFromMessageTimeout checks that a client may take longer to read a response than to send a message.
func TestHandler_excludesReadingFromMessageTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := newCallServer().serveInMemory(t)
		call := begin(t, client, "http://a"+bidiPath, echoRequest(t, "hello"))
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
		s := newCallServer()
		client, listener := s.serveInMemory(t)
		began := time.Now()
		watch := post(t, client, "http://a"+watchPath, bytes.NewReader(echotest.GRPCMessage("")))
		unknown := post(t, client, "http://a"+watchPath, bytes.NewReader(echotest.GRPCMessage("\x0a\x01x")))
		h1 := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.Dial(t), nil }}}
		web := post(t, h1, "http://a"+watchPath, bytes.NewReader(echotest.GRPCMessage("")), "Content-Type", webMediaType)
		for _, stream := range []*calling{watch, web} {
			if got := stream.receive(t); string(got) != "\x08\x01" {
				t.Errorf("the first status is %q", got)
			}
		}
		if got := unknown.receive(t); string(got) != "\x08\x03" {
			t.Errorf("the status of an unknown service is %q", got)
		}
		<-time.After(time.Hour) // nothing ends the stream
		s.draining.Store(true)
		close(s.notReady)
		for _, stream := range []*calling{watch, web} {
			if got := stream.receive(t); string(got) != "\x08\x02" || time.Since(began) != time.Hour {
				t.Errorf("after %s, while it drains, comes %q", time.Since(began), got)
			}
		}
		close(s.ending)
		for _, stream := range []*calling{watch, unknown} {
			if got := stream.status(t); got != "14 the server is stopping" {
				t.Errorf("the status is %s", got)
			}
		}
	})
}

// TestHandler_limitsDelayedCalls checks that the limit for delayed responses includes gRPC calls.
func TestHandler_limitsDelayedCalls(t *testing.T) {
	s := newCallServer()
	s.Chooser = controls.NewChooser(controls.Safe, controls.Controls{Delay: 30 * time.Second}, nil, nil)
	s.Delays.Waiting.Store(exchange.MaxWaiting)
	status, _ := called(t, echotest.Clients(t)["HTTP/2.0"], s.serveLocally(t)+unaryPath, echoRequest(t, "hello"))
	if status != "8 1000 responses are already delayed" || s.Delays.Waiting.Load() != exchange.MaxWaiting {
		t.Errorf("the status is %s, and %d responses are delayed", status, s.Delays.Waiting.Load())
	}
}

const (
	unaryPath      = echov1.EchoUnaryProcedure
	bidiPath       = echov1.EchoBidiStreamProcedure
	streamPath     = echov1.EchoServerStreamProcedure
	watchPath      = "/grpc.health.v1.Health/Watch"
	reflectionPath = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	gatewayAPI     = grpcecho.GrpcEchoEchoProcedure
)

// sentMessage returns a message in the wire format of gRPC.
func sentMessage(t testing.TB, message proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return echotest.GRPCMessage(string(data))
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

// post sends a gRPC request and returns its response.
func post(t *testing.T, client *http.Client, url string, body io.Reader, headers ...string) *calling {
	t.Helper()
	if !slices.Contains(headers, "Content-Type") {
		headers = append(headers, "Content-Type", grpcMediaType)
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
	c := post(t, client, url, bytes.NewReader(sent), headers...)
	for message := c.receive(t); message != nil; message = c.receive(t) {
		response = message
	}
	return c.status(t), response
}

// TestHandler_reservesMemoryForMessages checks how much memory is reserved for a call's messages, and when it is released.
func TestHandler_reservesMemoryForMessages(t *testing.T) {
	const size, idle = 100_000, callCost + streamCost
	s := newCallServer()
	used := func() int64 { return s.pool.Used.Load() }
	call := begin(t, echotest.Clients(t)["HTTP/2.0"], s.serveLocally(t)+bidiPath, echoRequest(t, echotest.Payload(size)))
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
		s := newCallServer()
		s.pool.Limit = c.limit
		status, _ := called(t, echotest.Clients(t)["HTTP/2.0"], s.serveLocally(t)+c.path, echoRequest(t, c.sent), c.headers...)
		if status != "8 the server does not have enough memory for the message" ||
			!slices.Equal(s.all(), []string{c.counted, "limit " + transport.LimitMemory}) {
			t.Errorf("%s: the status is %s, the counts are %q", name, status, s.all())
		}
		echotest.Until(t, name+" is released", func() bool { return s.pool.Used.Load() == 0 })
	}
}

// FuzzCall sends arbitrary data to the gRPC methods. All memory must be released, and the response must be bounded and contain no secrets.
func FuzzCall(f *testing.F) {
	paths := []string{unaryPath, streamPath, echov1.EchoClientStreamProcedure, bidiPath, gatewayAPI,
		healthCheckProcedure, reflectionPath}
	types := []string{"application/grpc", "application/grpc+json", "application/grpc-web", "application/connect+json", "application/json"}
	f.Add(uint(0), uint(0), []byte("\x00\x00\x00\x00\x07\x0a\x05hello"), "caf\xe9")
	f.Add(uint(1), uint(0), []byte("\x00\x00\x00\x00\x05\x0a\x01a\x18\x03"), "a")
	f.Add(uint(3), uint(0), []byte("\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"), "\xff\xfe")
	f.Add(uint(0), uint(4), []byte(`{"message": "hello", "data": "AA=="}`), "caf\xe9")
	f.Add(uint(6), uint(0), []byte("\x00\x00\x00\x00\x06\x22\x04echo"), "")
	const credential = "credential-\xe9-9b2d"
	f.Fuzz(func(t *testing.T, path, contentType uint, body []byte, value string) {
		s := newCallServer()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // ends a stream that sends responses at regular intervals
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, paths[path%uint(len(paths))], bytes.NewReader(body))
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", types[contentType%uint(len(types))])
		r.Header.Set("Connect-Protocol-Version", "1")
		r.Header.Set("X-Name", value)
		r.Header.Set("X-Api-Key", credential)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if used := s.pool.Used.Load(); used != 0 {
			t.Errorf("%d bytes remain acquired", used)
		}
		echotest.ExpectNoSecrets(t, w.Body.String(), string(body)+value, "credential-", base64.RawStdEncoding.EncodeToString([]byte(credential)))
		if w.Body.Len() > 4*len(body)+6*len(value)+10*exchange.MaxLogged && r.RequestURI != streamPath {
			t.Errorf("the response to %d bytes has %d", len(body), w.Body.Len())
		}
	})
}
