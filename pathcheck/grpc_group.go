package pathcheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	grpcType = "application/grpc"
	// events is how many responses a stream has that is asked for, one each eventInterval.
	events        = 3
	eventInterval = time.Second
)

// examineGRPC makes calls of gRPC.
func examineGRPC(ctx context.Context, g *group) error {
	if g.base != "" {
		return notApplicable("calls of gRPC have no path before their own, and could lead to another server: the URL has one")
	}
	a, err := g.doHTTP2(ctx, call("/echo.v1.Echo/Unary", message("pathcheck")))
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	f := decideUnary(a, err)
	g.add(f)
	if f.Value != yes {
		return nil
	}
	arrivals, err := serverStream(ctx, g)
	if ended := g.interrupted(ctx, err); ended != nil {
		return ended
	}
	g.add(decideStream(arrivals))
	return nil
}

// call returns the request of a call with one message.
func call(method string, data []byte) *request {
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data)))
	return &request{method: "POST", path: method, body: append(framed, data...), fields: []field{{"Content-Type", grpcType}, {"Te", "trailers"}}}
}

// message returns an EchoRequest or ServerStreamRequest in protobuf: field 1 is a text, the others are numbers.
func message(text string, numbers ...uint64) []byte {
	data := append([]byte{1<<3 | 2, byte(len(text))}, text...)
	for i, number := range numbers {
		data = binary.AppendUvarint(append(data, byte(i+3)<<3), number)
	}
	return data
}

func decideUnary(a *answer, err error) Fact {
	const name, sent, meaning = "grpc.unary", "a call of gRPC", "whether calls of gRPC arrive and come back, with the trailers that contain their status"
	switch {
	case err != nil:
		return newFact(name, no, sent, "nothing: "+err.Error(), meaning)
	case !a.proven:
		return refusedFact(name, sent, a.refusal(), meaning)
	case a.header.Get("Content-Type") != grpcType:
		return newFact(name, no, sent, "a request that is not one of gRPC", meaning+"; the way passes requests on by HTTP/1")
	case a.trailers.Get("Grpc-Status") == "":
		return newFact(name, "no trailers", sent, "a response without grpc-status", meaning)
	case a.trailers.Get("Grpc-Status") != "0" || !bytes.Contains(a.body, []byte("pathcheck")):
		return newFact(name, changed, sent, "grpc-status: "+a.trailers.Get("Grpc-Status"), meaning)
	}
	return newFact(name, yes, sent, "the message, and grpc-status: 0", meaning)
}

// serverStream makes a call whose responses come at intervals, and returns when they came.
func serverStream(ctx context.Context, g *group) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := g.newHTTP2()
	defer transport.CloseIdleConnections()
	r := call("/echo.v1.Echo/ServerStream", message("pathcheck", events, uint64(eventInterval/time.Millisecond)))
	began := time.Now()
	response, end, err := g.roundTrip(ctx, transport, r) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	defer end()
	a := &answer{status: response.StatusCode, header: response.Header}
	if g.judge(a, r.nonce); !a.proven {
		return nil, fmt.Errorf("the response %d is not that of the Echo", a.status)
	}
	return readUntil(response.Body, events, began, readMessage)
}

// readMessage reads a message of gRPC.
func readMessage(r io.Reader) error {
	var prefix [5]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(prefix[1:])
	if length > maxBody {
		return errors.New("the message is too long")
	}
	_, err := io.CopyN(io.Discard, r, int64(length))
	return err
}

func decideStream(arrivals []time.Duration) Fact {
	f := decideEvents(arrivals)
	if len(arrivals) < events {
		f.Value = no
	}
	return newFact("grpc.stream", f.Value, "a message each second", f.Received, "whether the messages of a stream of gRPC arrive when they are sent")
}
