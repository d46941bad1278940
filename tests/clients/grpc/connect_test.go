package grpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// protocol is a way in which connect's client calls the server.
type protocol struct {
	name    string
	client  *http.Client
	options []connect.ClientOption
	isHTTP2 bool
}

// protocols returns all that the server supports: gRPC requires HTTP/2, the others do not.
func protocols(t *testing.T) []protocol {
	t.Helper()
	unencrypted := &http.Protocols{}
	unencrypted.SetUnencryptedHTTP2(true)
	h1, h2 := &http.Transport{}, &http.Transport{Protocols: unencrypted}
	t.Cleanup(h1.CloseIdleConnections)
	t.Cleanup(h2.CloseIdleConnections)
	all := []protocol{{"gRPC over HTTP/2", &http.Client{Transport: h2}, []connect.ClientOption{connect.WithGRPC()}, true}}
	for name, options := range map[string][]connect.ClientOption{
		"gRPC-Web": {connect.WithGRPCWeb()}, "gRPC-Web with JSON": {connect.WithGRPCWeb(), connect.WithProtoJSON()},
		"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()},
	} {
		all = append(all, protocol{name + " over HTTP/1.1", &http.Client{Transport: h1}, options, false},
			protocol{name + " over HTTP/2", &http.Client{Transport: h2}, options, true})
	}
	return all
}

// caller calls a method of echo.v1.Echo.
type caller struct {
	*connect.Client[dynamicpb.Message, dynamicpb.Message]
	input protoreflect.MessageDescriptor
}

// caller returns a client of a method.
func (p *protocol) caller(t *testing.T, address string, method protoreflect.Name, options ...connect.ClientOption) *caller {
	t.Helper()
	described := echoProto(t).Services().ByName("Echo").Methods().ByName(method)
	options = append(options, connect.WithSchema(described), connect.WithResponseInitializer(func(_ connect.Spec, message any) error {
		if response, ok := message.(*dynamicpb.Message); ok {
			*response = *dynamicpb.NewMessage(described.Output())
		}
		return nil
	}))
	url := "http://" + address + "/echo.v1.Echo/" + string(method)
	return &caller{connect.NewClient[dynamicpb.Message, dynamicpb.Message](p.client, url, append(options, p.options...)...), described.Input()}
}

// message returns a request from JSON.
func (c *caller) message(t *testing.T, text string) *dynamicpb.Message {
	t.Helper()
	message := dynamicpb.NewMessage(c.input)
	if err := protojson.Unmarshal([]byte(text), message); err != nil {
		t.Fatal(err)
	}
	return message
}

// request returns a request from JSON, with metadata.
func (c *caller) request(t *testing.T, text string, metadata ...string) *connect.Request[dynamicpb.Message] {
	t.Helper()
	request := connect.NewRequest(c.message(t, text))
	for i := 0; i < len(metadata); i += 2 {
		request.Header().Add(metadata[i], metadata[i+1])
	}
	return request
}

func wantConnectCode(t *testing.T, what string, err error, want connect.Code, message string) {
	t.Helper()
	if connect.CodeOf(err) != want || !strings.Contains(err.Error(), message) {
		t.Errorf("%s: the error is %v, want %s with %q", what, err, want, message)
	}
}

// TestProtocols calls each kind of method by each protocol.
func TestProtocols(t *testing.T) {
	address := clients.Start(t)
	for _, p := range protocols(t) {
		t.Run(p.name, func(t *testing.T) {
			p.testUnary(t, address)
			p.testServerStream(t, address)
			p.testClientStream(t, address)
			p.testBidiStream(t, address)
			p.testErrors(t, address)
		})
	}
}

func (p *protocol) testUnary(t *testing.T, address string) {
	t.Helper()
	unary := p.caller(t, address, "Unary")
	request := unary.request(t, `{"message": "grüße", "data": "AAEC/w=="}`, "x-a", "1", "x-a", "2", "x-echo-delay", "1ms")
	got, err := unary.CallUnary(soon(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if field(got.Msg, "message") != "grüße" || field(got.Msg, "data") != "[0 1 2 255]" || field(got.Msg, "number") != "1" ||
		field(got.Msg, "call.method") != "/echo.v1.Echo/Unary" || strings.Join(callMetadata(got.Msg)["x-a"], " ") != "1 2" {
		t.Errorf("the response is %v", got.Msg)
	}
	if applied := got.Header().Get("X-Echo-Applied"); applied != "delay=1ms" {
		t.Errorf("applied is %q", applied)
	}
	metadata := callMetadata(got.Msg)
	if len(metadata["host"]) > 0 || len(metadata["content-type"]) != 1 {
		t.Errorf("the metadata are %v", metadata)
	}
}

func (p *protocol) testServerStream(t *testing.T, address string) {
	t.Helper()
	server := p.caller(t, address, "ServerStream")
	stream, err := server.CallServerStream(soon(t), server.request(t, `{"message": "tick", "count": 3, "intervalMilliseconds": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	numbers := ""
	for stream.Receive() {
		numbers += field(stream.Msg(), "number")
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil || numbers != "123" {
		t.Errorf("the stream has the responses %s, %v", numbers, err)
	}
}

func (p *protocol) testClientStream(t *testing.T, address string) {
	t.Helper()
	client := p.caller(t, address, "ClientStream")
	stream := client.CallClientStream(soon(t))
	for range 3 {
		if err := stream.Send(client.message(t, `{"message": "hello"}`)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := stream.CloseAndReceive()
	if err != nil || field(got.Msg, "messages") != "3" || field(got.Msg, "bytes") != "15" {
		t.Errorf("the response is %v, %v", got, err)
	}
}

// testBidiStream expects that streams in both directions need HTTP/2.
func (p *protocol) testBidiStream(t *testing.T, address string) {
	t.Helper()
	client := p.caller(t, address, "BidiStream")
	stream := client.CallBidiStream(soon(t))
	defer func() { _ = stream.CloseResponse() }()
	for _, data := range []string{"hello", strings.Repeat("x", 100_000)} {
		errSent := stream.Send(client.message(t, `{"message": "`+data+`"}`))
		got, err := stream.Receive()
		if !p.isHTTP2 {
			if err == nil {
				t.Errorf("over HTTP/1.1 comes %v", got)
			}
			return
		}
		if errSent != nil || err != nil || field(got, "message") != data {
			t.Fatalf("to %d bytes, the response is %v, %v, %v", len(data), got, errSent, err)
		}
	}
	errClosed := stream.CloseRequest()
	if _, err := stream.Receive(); errClosed != nil || !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v, %v", errClosed, err)
	}
}

func (p *protocol) testErrors(t *testing.T, address string) {
	t.Helper()
	unary := p.caller(t, address, "Unary")
	for name, c := range map[string]struct {
		request *connect.Request[dynamicpb.Message]
		code    connect.Code
		message string
	}{
		"a requested code": {unary.request(t, "{}", "x-echo-grpc-status", "5"), connect.CodeNotFound, "requested by x-echo-grpc-status"},
		"a wrong control":  {unary.request(t, "{}", "x-echo-delay", "1h"), connect.CodeInvalidArgument, "x-echo-delay"},
		"a long message":   {unary.request(t, `{"message": "`+strings.Repeat("x", 2<<20)+`"}`), connect.CodeResourceExhausted, "max 1048576"},
	} {
		_, err := unary.CallUnary(soon(t), c.request)
		wantConnectCode(t, name, err, c.code, c.message)
	}
	compressed := p.caller(t, address, "Unary", connect.WithSendGzip())
	_, err := compressed.CallUnary(soon(t), compressed.request(t, `{"message": "hello"}`))
	wantConnectCode(t, "compression", err, connect.CodeUnimplemented, `unknown compression "gzip"`)
	ctx, cancel := context.WithTimeout(soon(t), 100*time.Millisecond)
	defer cancel()
	_, err = unary.CallUnary(ctx, unary.request(t, "{}", "x-echo-delay", "30s"))
	wantConnectCode(t, "a deadline", err, connect.CodeDeadlineExceeded, "")

	for _, path := range []string{"/echo.v1.Echo/None", "/a/b"} {
		unknown := connect.NewClient[dynamicpb.Message, dynamicpb.Message](p.client, "http://"+address+path, append([]connect.ClientOption{
			connect.WithSchema(echoProto(t).Services().ByName("Echo").Methods().ByName("Unary"))}, p.options...)...)
		_, err := unknown.CallUnary(soon(t), unary.request(t, "{}"))
		wantConnectCode(t, path, err, connect.CodeUnimplemented, "unknown method "+path)
	}
}

// TestProtocolsAtTheEnd stops the server: streams must end with a code that makes clients retry, by each protocol.
func TestProtocolsAtTheEnd(t *testing.T) {
	server := clients.Run(t, "ECHO_DRAIN_DELAY=0s")
	streams := map[string]*connect.ServerStreamForClient[dynamicpb.Message]{}
	for _, p := range protocols(t) {
		client := p.caller(t, server.Address, "ServerStream")
		stream, err := client.CallServerStream(soon(t), client.request(t, `{"count": 2, "intervalMilliseconds": 30000}`))
		if err != nil || !stream.Receive() {
			t.Fatalf("%s: %v, %v", p.name, err, stream.Err())
		}
		streams[p.name] = stream
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for name, stream := range streams {
		if stream.Receive() {
			t.Errorf("%s: there is a second response", name)
		}
		wantConnectCode(t, name, stream.Err(), connect.CodeUnavailable, "the server is stopping")
		_ = stream.Close() // the connection has ended
	}
}
