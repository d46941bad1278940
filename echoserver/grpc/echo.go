package grpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// maxStreamCount is the maximum number of responses that a request can specify.
const maxStreamCount = 1000

// echoService implements echo.v1.Echo. Only the first response of a stream describes the call, because the description can be large.
type echoService struct{ handler *Handler }

func (s *echoService) Unary(ctx context.Context, request *echov1.EchoRequest) (*echov1.EchoResponse, error) {
	call, err := s.handler.describe(callOf(ctx))
	if err != nil {
		return nil, err
	}
	return &echov1.EchoResponse{Message: request.Message, Data: request.Data, Number: 1, Call: call}, nil
}

func (s *echoService) ServerStream(ctx context.Context, request *echov1.ServerStreamRequest,
	stream *connect.ServerStream[echov1.EchoResponse]) error {
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
		select {
		case <-time.After(time.Duration(request.IntervalMilliseconds) * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

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

func invalidArgument(format string, arguments ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, arguments...))
}

// control applies a call's controls before Connect reads the first message. It returns an error if they end the call.
func (h *Handler) control(ctx context.Context, c *call, target controls.Target) error {
	desired, err := h.Chooser.For(c.request, target)
	if err != nil {
		name, _, _ := strings.Cut(err.Error(), ":")
		return invalidArgument("%s%s", strings.ToLower(name), err.Error()[len(name):])
	}
	err = h.Delays.Await(ctx, c.Exchange, desired.Delay)
	_ = exchange.SetDeadlines(c.Exchange, time.Time{}) // each message has its own deadlines
	switch {
	case errors.Is(err, exchange.ErrTooManyDelays):
		return connect.NewError(connect.CodeResourceExhausted, err)
	case errors.Is(err, exchange.ErrOverBudget):
		return c.outOfMemory()
	}
	h.Chooser.Apply(c.Exchange, &desired)
	switch {
	case err != nil:
		return callError(err)
	case desired.GRPCStatus != 0:
		return connect.NewError(connect.Code(desired.GRPCStatus), errors.New("requested by x-echo-grpc-status"))
	}
	return nil
}

// codeName returns the name of a gRPC status code, where 0 stands for success.
func codeName(code connect.Code) string {
	switch code {
	case 0:
		return "OK"
	case connect.CodeCanceled:
		return "CANCELLED"
	}
	return strings.ToUpper(code.String())
}
