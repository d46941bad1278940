package grpc

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/echo-operator/echo-operator/tests/clients"
)

type protocol struct {
	name    string
	http2   bool
	options []connect.ClientOption
}

// protocols returns the protocols that browsers and curl can use. The tests that use grpc-go cover gRPC itself.
func protocols() []protocol {
	return []protocol{
		{"gRPC-Web over HTTP/1.1", false, []connect.ClientOption{connect.WithGRPCWeb()}},
		{"gRPC-Web with JSON over HTTP/2", true, []connect.ClientOption{connect.WithGRPCWeb(), connect.WithProtoJSON()}},
		{"Connect over HTTP/2", true, nil},
		{"Connect with JSON over HTTP/1.1", false, []connect.ClientOption{connect.WithProtoJSON()}},
	}
}

// caller calls a method of echo.v1.Echo.
type caller struct {
	*connect.Client[dynamicpb.Message, dynamicpb.Message]
	input protoreflect.MessageDescriptor
}

func (p *protocol) caller(t *testing.T, address string, method protoreflect.Name) *caller {
	t.Helper()
	version := &http.Protocols{}
	version.SetHTTP1(!p.http2)
	version.SetUnencryptedHTTP2(p.http2)
	transport := &http.Transport{Protocols: version}
	t.Cleanup(transport.CloseIdleConnections)
	described := echoProto(t).Services().ByName("Echo").Methods().ByName(method)
	options := slices.Concat(p.options, []connect.ClientOption{connect.WithSchema(described), connect.WithResponseInitializer(func(_ connect.Spec, message any) error {
		if response, ok := message.(*dynamicpb.Message); ok {
			*response = *dynamicpb.NewMessage(described.Output())
		}
		return nil
	})})
	url := "http://" + address + "/echo.v1.Echo/" + string(method)
	return &caller{connect.NewClient[dynamicpb.Message, dynamicpb.Message](&http.Client{Transport: transport}, url, options...),
		described.Input()}
}

// request builds a request from JSON and adds metadata.
func (c *caller) request(t *testing.T, text string, metadata ...string) *connect.Request[dynamicpb.Message] {
	t.Helper()
	message := dynamicpb.NewMessage(c.input)
	if err := protojson.Unmarshal([]byte(text), message); err != nil {
		t.Fatal(err)
	}
	request := connect.NewRequest(message)
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

// TestProtocols calls a unary method and a streaming method with each protocol.
func TestProtocols(t *testing.T) {
	address := clients.Start(t)
	for _, p := range protocols() {
		t.Run(p.name, func(t *testing.T) {
			p.testUnary(t, address)
			p.testServerStream(t, address)
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
	_, err = unary.CallUnary(soon(t), unary.request(t, "{}", "x-echo-grpc-status", "5"))
	wantConnectCode(t, "a requested code", err, connect.CodeNotFound, "requested by x-echo-grpc-status")
	_, err = unary.CallUnary(soon(t), unary.request(t, `{"message": "`+strings.Repeat("x", 2<<20)+`"}`))
	wantConnectCode(t, "a long message", err, connect.CodeResourceExhausted, "max 1048576")
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
