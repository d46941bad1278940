package grpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// patience is how long a test waits for an expected result.
const patience = 30 * time.Second

// dial connects to an echo server at an address.
func dial(t *testing.T, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// soon returns a context that is done when the test ends or patience has elapsed.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// echoClient calls the echo.v1.Echo service with messages built from the service's .proto file.
type echoClient struct {
	*grpc.ClientConn
	service protoreflect.ServiceDescriptor
}

func newEchoClient(t *testing.T, address string, options ...grpc.DialOption) *echoClient {
	t.Helper()
	return &echoClient{dial(t, address, options...), echoProto(t).Services().ByName("Echo")}
}

// request builds a method's request message from JSON.
func (c *echoClient) request(t *testing.T, method protoreflect.Name, text string) proto.Message {
	t.Helper()
	message := dynamicpb.NewMessage(c.service.Methods().ByName(method).Input())
	if err := protojson.Unmarshal([]byte(text), message); err != nil {
		t.Fatal(err)
	}
	return message
}

func (c *echoClient) response(method protoreflect.Name) *dynamicpb.Message {
	return dynamicpb.NewMessage(c.service.Methods().ByName(method).Output())
}

func (c *echoClient) unary(ctx context.Context, t *testing.T, text string, options ...grpc.CallOption) (*dynamicpb.Message, error) {
	t.Helper()
	response := c.response("Unary")
	err := c.Invoke(ctx, "/echo.v1.Echo/Unary", c.request(t, "Unary", text), response, options...)
	return response, err
}

func (c *echoClient) stream(ctx context.Context, t *testing.T, method protoreflect.Name) grpc.ClientStream {
	t.Helper()
	described := c.service.Methods().ByName(method)
	stream, err := c.NewStream(ctx,
		&grpc.StreamDesc{ServerStreams: described.IsStreamingServer(), ClientStreams: described.IsStreamingClient()},
		"/echo.v1.Echo/"+string(method))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// field converts the value at a path in a message, such as call.server.pod, to text.
func field(message protoreflect.Message, path string) string {
	name, rest, nested := strings.Cut(path, ".")
	value := message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name)))
	if nested {
		return field(value.Message(), rest)
	}
	return value.String()
}

// pairs converts a list of key-value messages to a map.
func pairs(list protoreflect.List) map[string][]string {
	values := map[string][]string{}
	for i := range list.Len() {
		pair := list.Get(i).Message()
		values[field(pair, "key")] = append(values[field(pair, "key")], field(pair, "value"))
	}
	return values
}

func callMetadata(response protoreflect.Message) map[string][]string {
	call := response.Get(response.Descriptor().Fields().ByName("call")).Message()
	return pairs(call.Get(call.Descriptor().Fields().ByName("metadata")).List())
}

func wantCode(t *testing.T, err error, want codes.Code, message string) {
	t.Helper()
	if got := status.Convert(err); got.Code() != want || !strings.Contains(got.Message(), message) {
		t.Errorf("the status is %v, want %s with %q", got, want, message)
	}
}
