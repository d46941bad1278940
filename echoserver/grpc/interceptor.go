package grpc

import (
	"context"

	"connectrpc.com/connect"
)

// callInterceptor implements the interceptor methods that Connect calls after it reads a message.
type callInterceptor struct{}

// WrapUnary implements connect.Interceptor.
func (callInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		response, err := next(ctx, request)
		if err = callOf(ctx).handled(err); err != nil {
			return nil, err
		}
		return response, nil
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (callInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		c := callOf(ctx)
		return c.handled(next(ctx, &callConn{conn, c}))
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (callInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// handled records that a service has handled the call, and returns the error with which the call ends.
func (c *call) handled(err error) error {
	if cause := c.cause(); cause != nil {
		err = callError(cause)
	}
	c.isHandled = true
	if err != nil {
		c.err = err
	}
	return err
}

// callConn is the connection that a stream uses.
type callConn struct {
	connect.StreamingHandlerConn
	call *call
}

// Receive implements connect.StreamingHandlerConn. If the client may send only one message, Connect calls Receive a second time to make
// sure that no other message follows. In this case, the memory for the message stays reserved.
func (c *callConn) Receive(message any) error {
	if c.Spec().StreamType&connect.StreamTypeClient != 0 {
		c.call.releaseMessage()
		defer c.call.clearReadDeadline()
	}
	return c.StreamingHandlerConn.Receive(message)
}
