package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

const grpcType = "application/grpc"

// ExamineGRPC examines a gRPC call with one response, and a call with a stream of responses.
func ExamineGRPC(ctx context.Context, g *Group) error {
	if g.Base != "" {
		g.Skip("grpc", "the URL has a path, but gRPC calls cannot have a path prefix, so they could reach another server")
		return nil
	}
	x := experiment{fact: "grpc.unary", sent: "a gRPC call", probe: call("/echo.v1.Echo/Unary", message("pathcheck")), send: g.DoHTTP2,
		read: decideUnary, refused: withoutHTTP2}
	r, err := g.perform(ctx, x)
	if err := g.conclude(x, r, err); err != nil || r.value != Yes {
		return err
	}
	return g.find(ctx, experiment{fact: "grpc.stream", sent: "one message per second", send: g.readMessages,
		probe: call("/echo.v1.Echo/ServerStream", message("pathcheck", events, 1000)), // one per 1,000 ms
		read: func(o Outcome) (string, string) {
			value, received := decideArrivals(o.Arrivals, "", events)
			if len(o.Arrivals) < events {
				value = No
			}
			return value, received
		}})
}

// call returns the request for a call with one message.
func call(method string, data []byte) wire.Request {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data)))
	return wire.Request{Method: "POST", Path: method, Body: append(framed, data...),
		Fields: wire.Fields("Content-Type", grpcType, "Te", "trailers")}
}

// message returns an EchoRequest or ServerStreamRequest in protobuf encoding. Field 1 is a string, and the other fields are numbers.
func message(text string, numbers ...uint64) []byte {
	data := append([]byte{1<<3 | 2, byte(len(text))}, text...)
	for i, number := range numbers {
		data = binary.AppendUvarint(append(data, byte(i+3)<<3), number)
	}
	return data
}

func decideUnary(o Outcome) (value, received string) {
	status := o.Trailers.Get("Grpc-Status")
	switch {
	case o.Header.Get("Content-Type") != grpcType:
		return No, "a request that is not a gRPC call"
	case status == "":
		return "no trailers", "a response without grpc-status"
	case status == "8": // RESOURCE_EXHAUSTED
		return "", outOfMemory
	case status != "0" || !bytes.Contains(o.Body, []byte("pathcheck")):
		return Changed, "grpc-status: " + status
	}
	return Yes, "the message, and grpc-status: 0"
}

// readMessages makes a gRPC call that returns a stream of responses, and reads them.
func (g *Group) readMessages(ctx context.Context, r *wire.Request) (*wire.Response, error) {
	began := time.Now()
	response, end, err := g.RoundTripHTTP2(ctx, r)
	if err != nil {
		return nil, err
	}
	defer end()
	a := &wire.Response{Status: response.StatusCode, Header: response.Header}
	if g.Judge(a, r.Nonce); a.Proven {
		a.Arrivals, err = readUntil(began, func() error { return readMessage(response.Body) })
	}
	return a, over(ctx, err)
}

func readMessage(r io.Reader) error {
	var prefix [5]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(prefix[1:])
	if length > wire.MaxBody {
		return errors.New("the message is too long")
	}
	_, err := io.CopyN(io.Discard, r, int64(length))
	return err
}
