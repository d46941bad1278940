package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

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
