package grpc

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/echo-operator/echo-operator/tests/clients"
)

func TestUnary(t *testing.T) {
	address := clients.Start(t, "ECHO_POD_NAMESPACE=ns", "ECHO_POD_NAME=pod-1", "ECHO_SERVICE_NAME=service", "ECHO_INGRESS_NAME=ingress",
		"ECHO_NODE_NAME=node", "ECHO_POD_IP=10.0.0.1", "ECHO_HOST_IP=10.0.0.2", "ECHO_INFO_COLOR=blue", "ECHO_TRUSTED_PROXIES=127.0.0.0/8")
	client := newEchoClient(t, address, grpc.WithAuthority("example.com"))
	ctx := metadata.AppendToOutgoingContext(soon(t), "x-a", "1", "x-a", "2", "x-raw-bin", "\x00\xff", "authorization", "Bearer hunter2",
		"x-request-id", "id-1", "x-forwarded-for", "192.0.2.1", "x-echo-status", "503")
	var header, trailer metadata.MD
	response, err := client.unary(ctx, t, `{"message": "grüße", "data": "AAEC/w=="}`, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"message": "grüße", "data": "[0 1 2 255]", "number": "1", "call.method": "/echo.v1.Echo/Unary", "call.authority": "example.com",
		"call.request_id": "id-1", "call.client_address": "192.0.2.1", "call.server.namespace": "ns", "call.server.ingress": "ingress",
		"call.server.service": "service", "call.server.pod": "pod-1", "call.server.node": "node", "call.server.pod_ip": "10.0.0.1",
		"call.server.host_ip": "10.0.0.2", "call.server.version": "v0.1.0", "call.server.draining": "false",
	} {
		if got := field(response, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if host, _, err := net.SplitHostPort(field(response, "call.remote_address")); host != "127.0.0.1" || err != nil {
		t.Errorf("the remote address is %s", field(response, "call.remote_address"))
	}
	if text, err := protojson.Marshal(response); err != nil ||
		!strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"info":{"COLOR":"blue"}`) {
		t.Errorf("without the information: %s, %v", text, err)
	}
	got := callMetadata(response)
	for key, want := range map[string]string{"x-a": "1 2", "x-raw-bin": "AP8", "content-type": "application/grpc", "te": "trailers",
		"authorization": "Bearer [redacted: 7 bytes, sha256 f52fbd32]"} {
		if strings.Join(got[key], " ") != want {
			t.Errorf("the metadata %s is %q, want %q", key, got[key], want)
		}
	}
	if len(header["x-echo-applied"]) > 0 || len(trailer["grpc-status"]) > 0 {
		t.Errorf("the header is %v, the trailer %v", header, trailer)
	}
}

func TestControls(t *testing.T) {
	client := newEchoClient(t, clients.Start(t))
	with := func(pairs ...string) context.Context { return metadata.AppendToOutgoingContext(soon(t), pairs...) }
	var header metadata.MD
	_, err := client.unary(with("x-echo-grpc-status", "14", "x-echo-delay", "20ms"), t, "{}", grpc.Header(&header))
	wantCode(t, err, codes.Unavailable, "x-echo-grpc-status")
	if got := strings.Join(header["x-echo-applied"], ""); got != "grpc-status=14, delay=20ms" {
		t.Errorf("applied is %q", got)
	}
	_, err = client.unary(with("x-echo-grpc-status", "17"), t, "{}")
	wantCode(t, err, codes.InvalidArgument, `x-echo-grpc-status: "17" is not a whole number from 0 to 16`)
	began := time.Now()
	if _, err := client.unary(with("x-echo-delay", "200ms"), t, "{}"); err != nil || time.Since(began) < 200*time.Millisecond {
		t.Errorf("the delay was %s, %v", time.Since(began), err)
	}
	err = client.stream(with("x-echo-grpc-status", "5"), t, "BidiStream").RecvMsg(client.response("BidiStream"))
	wantCode(t, err, codes.NotFound, "")
}

func TestServerStream(t *testing.T) {
	client := newEchoClient(t, clients.Start(t))
	responses := func(text string) (all []*dynamicpb.Message, err error) {
		stream := client.stream(soon(t), t, "ServerStream")
		if err := errors.Join(stream.SendMsg(client.request(t, "ServerStream", text)), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		for {
			response := client.response("ServerStream")
			if err := stream.RecvMsg(response); err != nil {
				return all, err
			}
			all = append(all, response)
		}
	}
	for text, want := range map[string]int{`{"message": "hello"}`: 1, `{"message": "hello", "count": 3, "intervalMilliseconds": 1}`: 3,
		`{"message": "hello", "count": 1000}`: 1000} {
		got, err := responses(text)
		if !errors.Is(err, io.EOF) || len(got) != want {
			t.Fatalf("%s: %d responses, %v", text, len(got), err)
		}
		if last := got[want-1]; field(last, "message") != "hello" || field(last, "number") != strconv.Itoa(want) {
			t.Errorf("%s: the last response is %v", text, last)
		}
		if len(callMetadata(got[0])) == 0 || want > 1 && len(callMetadata(got[1])) > 0 {
			t.Errorf("%s: a later response also describes the call", text)
		}
	}
	for text, message := range map[string]string{
		`{"count": 1001}`:                 "count: 1001 is not a number from 0 to 1000",
		`{"intervalMilliseconds": 30001}`: "interval_milliseconds: 30001 is not",
		`{"count": 1000, "message": "` + strings.Repeat("x", 17<<10) + `"}`: "count: 1000 responses of 17408 bytes exceed",
	} {
		_, err := responses(text)
		wantCode(t, err, codes.InvalidArgument, message)
	}
}

func TestClientStream(t *testing.T) {
	client := newEchoClient(t, clients.Start(t))
	stream := client.stream(soon(t), t, "ClientStream")
	for range 1000 {
		if err := stream.SendMsg(client.request(t, "ClientStream", `{"message": "hel", "data": "bG8="}`)); err != nil {
			t.Fatal(err)
		}
	}
	response := client.response("ClientStream")
	if err := errors.Join(stream.CloseSend(), stream.RecvMsg(response)); err != nil {
		t.Fatal(err)
	}
	const digest = "d036eecd4917a682ea94570fb6f7a6b306494bcaa54916113072c098b8902875"
	if field(response, "messages") != "1000" || field(response, "bytes") != "5000" || field(response, "sha256") != digest ||
		field(response, "call.method") != "/echo.v1.Echo/ClientStream" {
		t.Errorf("the response is %v", response)
	}
}

func TestBidiStream(t *testing.T) {
	client := newEchoClient(t, clients.Start(t))
	stream := client.stream(soon(t), t, "BidiStream")
	for n, data := range []string{"", "hello", strings.Repeat("x", 1<<20-10), "the last"} {
		sent := client.request(t, "BidiStream", `{"message": "`+data+`"}`)
		got := client.response("BidiStream")
		if err := errors.Join(stream.SendMsg(sent), stream.RecvMsg(got)); err != nil {
			t.Fatal(err)
		}
		if field(got, "message") != data || field(got, "number") != strconv.Itoa(n+1) || (len(callMetadata(got)) > 0) != (n == 0) {
			t.Errorf("message %d of %d bytes comes back as number %s with %d bytes", n+1, len(data), field(got, "number"),
				len(field(got, "message")))
		}
	}
	if err := errors.Join(stream.CloseSend(), stream.RecvMsg(client.response("BidiStream"))); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
}
