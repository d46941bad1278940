package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

const grpcType = "application/grpc"

// ExamineGRPC examines a gRPC call with one response, and a call with a stream of responses.
func ExamineGRPC(ctx context.Context, g *Group) error {
	if g.Base != "" {
		return NotApplicable("the URL has a path, but gRPC calls cannot have a path prefix, so they could reach another server")
	}
	a, err := g.DoHTTP2(ctx, call("/echo.v1.Echo/Unary", message("pathcheck")))
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	f := decideUnary(a, err)
	g.Add(f)
	if f.Value != Yes {
		return nil
	}
	arrivals, err := serverStream(ctx, g)
	if ended := g.Interrupted(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideStream(arrivals))
	return nil
}

// call returns the request for a call with one message.
func call(method string, data []byte) *wire.Request {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data)))
	return &wire.Request{Method: "POST", Path: method, Body: append(framed, data...),
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

func decideUnary(a *wire.Response, err error) Fact {
	const name, sent = "grpc.unary", "a gRPC call"
	switch {
	case err != nil:
		return NewFact(name, No, sent, "nothing: "+err.Error())
	case !a.Proven:
		return refusedFact(name, sent, a.Refusal())
	case a.Header.Get("Content-Type") != grpcType:
		return NewFact(name, No, sent, "a request that is not a gRPC call")
	case a.Trailers.Get("Grpc-Status") == "":
		return NewFact(name, "no trailers", sent, "a response without grpc-status")
	case a.Trailers.Get("Grpc-Status") != "0" || !bytes.Contains(a.Body, []byte("pathcheck")):
		return NewFact(name, Changed, sent, "grpc-status: "+a.Trailers.Get("Grpc-Status"))
	}
	return NewFact(name, Yes, sent, "the message, and grpc-status: 0")
}

// serverStream makes a gRPC call that returns a stream of responses, and returns their arrival times.
func serverStream(ctx context.Context, g *Group) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.Timeout)
	defer cancel()
	// One message per 1,000 ms.
	r := call("/echo.v1.Echo/ServerStream", message("pathcheck", events, 1000))
	began := time.Now()
	response, end, err := g.RoundTripHTTP2(ctx, r) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	defer end()
	a := &wire.Response{Status: response.StatusCode, Header: response.Header}
	if g.Judge(a, r.Nonce); !a.Proven {
		return nil, fmt.Errorf("the response with status %d does not come from the Echo", a.Status)
	}
	return readUntil(response.Body, began, readMessage)
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

func decideStream(arrivals []time.Duration) Fact {
	f := decideEvents(arrivals)
	if len(arrivals) < events {
		f.Value = No
	}
	return NewFact("grpc.stream", f.Value, "one message per second", f.Received)
}
