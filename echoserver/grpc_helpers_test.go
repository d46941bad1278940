package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

const (
	unaryPath  = "/echo.v1.Echo/Unary"
	bidiPath   = "/echo.v1.Echo/BidiStream"
	watchPath  = "/grpc.health.v1.Health/Watch"
	checkPath  = "/grpc.health.v1.Health/Check"
	gatewayAPI = "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/Echo"
)

// framed returns a message as it is sent.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// echoRequest returns an EchoRequest with a message.
func echoRequest(message string) []byte {
	var p protobuf
	p.text(wireMessage, message)
	return framed(p)
}

// calling is a call in progress, as its client sees it.
type calling struct {
	response *http.Response
	body     *io.PipeWriter
}

// begin begins a call. Its headers must have come, which takes a first message or the end.
func begin(t *testing.T, client *http.Client, url string, first []byte, headers ...string) *calling {
	t.Helper()
	reader, writer := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", grpcType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	go func() { _, _ = writer.Write(first) }() // the call may end before
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(writer.Close(), response.Body.Close()) })
	return &calling{response, writer}
}

// receive returns the next message, or nil at the end.
func (c *calling) receive(t *testing.T) []byte {
	t.Helper()
	var prefix [5]byte
	_, err := io.ReadFull(c.response.Body, prefix[:])
	if errors.Is(err, io.EOF) {
		return nil
	}
	message := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
	if _, errRead := io.ReadFull(c.response.Body, message); err != nil || errRead != nil || prefix[0] != 0 {
		t.Fatalf("the message begins with %v: %v, %v", prefix, err, errRead)
	}
	return message
}

// status returns code and message of a call that has ended.
func (c *calling) status(t *testing.T) string {
	t.Helper()
	if rest, err := io.ReadAll(c.response.Body); err != nil || len(rest) > 0 {
		t.Errorf("before the end come %q, %v", rest, err)
	}
	return c.response.Trailer.Get("Grpc-Status") + " " + c.response.Trailer.Get("Grpc-Message")
}

// called returns the status of a call of one message, and the last message of its response.
func called(t *testing.T, client *http.Client, url string, sent []byte, headers ...string) (status string, response []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", grpcType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	c := &calling{response: got}
	for message := c.receive(t); message != nil; message = c.receive(t) {
		response = message
	}
	return c.status(t), response
}

// fieldOf returns the first value of a field in embedded messages, by the numbers of the fields.
func fieldOf(message []byte, path ...uint64) []byte {
	var value []byte
	_ = eachField(message, func(f protobufField) {
		if value == nil && f.is(path[0], wireBytes) {
			value = f.data
		}
	})
	if len(path) > 1 {
		return fieldOf(value, path[1:]...)
	}
	return value
}

// http2InMemory returns an HTTP/2 client of a server in memory.
func http2InMemory(t *testing.T, listener *memoryListener) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(t), nil }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
