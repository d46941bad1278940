package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/echoserver/transport"
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
