package grpc

import (
	"context"

	"connectrpc.com/connect"
)

// callInterceptor implements the methods that Connect calls after it has read a message.
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

// handled returns the error with which a call ends after a service has handled it.
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

// callConn is the connection of a stream.
type callConn struct {
	connect.StreamingHandlerConn
	call *call
}

// Receive implements connect.StreamingHandlerConn. If the client may send only one message, Connect calls Receive a second time to make
// sure that no other message follows. The memory of the message then remains acquired.
func (c *callConn) Receive(message any) error {
	if c.Spec().StreamType&connect.StreamTypeClient != 0 {
		c.call.releaseMessage()
		defer c.call.clearReadDeadline()
	}
	return c.StreamingHandlerConn.Receive(message)
}
