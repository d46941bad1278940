package grpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
)

// maxStreamCount is the maximum number of responses that a request can specify.
const maxStreamCount = 1000

// echoService implements echo.v1.Echo. Only the first response of a stream describes the call, because the description can be much larger
// than a request.
type echoService struct{ handler *Handler }

// Unary implements echov1.EchoHandler.
func (s *echoService) Unary(ctx context.Context, request *echov1.EchoRequest) (*echov1.EchoResponse, error) {
	call, err := s.handler.describe(callOf(ctx))
	if err != nil {
		return nil, err
	}
	return &echov1.EchoResponse{Message: request.Message, Data: request.Data, Number: 1, Call: call}, nil
}

// ServerStream implements echov1.EchoHandler.
func (s *echoService) ServerStream(ctx context.Context, request *echov1.ServerStreamRequest,
	stream *connect.ServerStream[echov1.EchoResponse]) error {
	if err := checkStream(request); err != nil {
		return err
	}
	call, err := s.handler.describe(callOf(ctx))
	if err != nil {
		return err
	}
	response := &echov1.EchoResponse{Message: request.Message, Data: request.Data, Call: call}
	for {
		response.Number++
		if err := stream.Send(response); err != nil || response.Number >= uint64(request.Count) {
			return err
		}
		response.Call = nil
		if err := wait(ctx, time.Duration(request.IntervalMilliseconds)*time.Millisecond); err != nil {
			return err
		}
	}
}

// checkStream returns an error if a stream of responses would exceed a limit.
func checkStream(request *echov1.ServerStreamRequest) error {
	size := len(request.Message) + len(request.Data)
	switch {
	case request.Count > maxStreamCount:
		return invalidArgument("count: %d is not a number from 0 to %d", request.Count, maxStreamCount)
	case int64(request.IntervalMilliseconds) > controls.MaxDelay.Milliseconds():
		return invalidArgument("interval_milliseconds: %d is not a number from 0 to %d", request.IntervalMilliseconds,
			controls.MaxDelay.Milliseconds())
	case int(request.Count)*size > controls.MaxSize: // no overflow, because count is at most maxStreamCount
		return invalidArgument("count: %d responses of %d bytes exceed the limit of %d bytes", request.Count, size, controls.MaxSize)
	}
	return nil
}

// wait waits for a duration. If the call ends earlier, wait returns the reason.
func wait(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ClientStream implements echov1.EchoHandler.
func (s *echoService) ClientStream(ctx context.Context,
	stream *connect.ClientStream[echov1.EchoRequest]) (*echov1.ClientStreamResponse, error) {
	response, digest := &echov1.ClientStreamResponse{}, sha256.New()
	for stream.Receive() {
		request := stream.Msg()
		response.Messages++
		response.Bytes += uint64(len(request.Message) + len(request.Data))
		digest.Write([]byte(request.Message))
		digest.Write(request.Data)
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	response.Sha256 = hex.EncodeToString(digest.Sum(nil))
	var err error
	response.Call, err = s.handler.describe(callOf(ctx))
	return response, err
}

// BidiStream implements echov1.EchoHandler.
func (s *echoService) BidiStream(ctx context.Context, stream *connect.BidiStream[echov1.EchoRequest, echov1.EchoResponse]) error {
	for number := uint64(1); ; number++ {
		request, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response := &echov1.EchoResponse{Message: request.Message, Data: request.Data, Number: number}
		if number == 1 {
			if response.Call, err = s.handler.describe(callOf(ctx)); err != nil {
				return err
			}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}
