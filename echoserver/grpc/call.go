package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// messageTimeout is the time limit for receiving a message.
	messageTimeout = 30 * time.Second
	// betweenMessages is the maximum idle time of a stream between two messages from the client.
	betweenMessages = 10 * time.Minute
	// messageFactor is the memory that a message holds, as a multiple of its size: up to two for the received message, and one for the decoded
	// message or the response.
	messageFactor = 3
	// descriptionFactor is the memory that a header's description holds, as a multiple of the header's size. The description is in memory
	// twice: in the message, and encoded. At worst, every second byte expands to three, and the raw list repeats values that are not UTF-8.
	descriptionFactor = 6
	// callCost is the memory, in bytes, that a call holds in addition to its request: Connect's state, and a deeper stack.
	callCost = 8 << 10
	// streamCost is the memory, in bytes, that a stream holds in addition to its call. A stream is long-lived, and has a goroutine that waits
	// until the server stops.
	streamCost = 8 << 10
	// prefixSize is the size, in bytes, of a message's prefix.
	prefixSize = 5
)

// LimitMessage is the reason in echo_rejected_total for messages that are larger than the service allows.
const LimitMessage = "grpc_message"

// call is a call in progress, from which Connect reads the request, and to which it writes the response.
type call struct {
	*exchange.Exchange
	request    *http.Request
	rejected   func(reason string)
	controller *http.ResponseController
	cancel     context.CancelCauseFunc
	watching   sync.WaitGroup
	cause      func() error  // returns why the call ends early, or nil
	deadline   time.Time     // set by the client; zero for none
	patience   time.Duration // the time limit for a message to begin
	limit      int64         // the maximum size of a message, in bytes, including its prefix

	received  int64 // bytes received since the previous message
	acquired  int64 // bytes acquired for the message
	isWriting bool  // whether anything has been written since the last Flush
	isHandled bool  // whether a service handled the call; if so, err contains the result
	err       error
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call) // Serve has set it
	return c
}

// Read implements io.Reader for Connect, which reads messages into growing buffers, and discards the bytes that exceed the limit.
func (c *call) Read(p []byte) (int, error) {
	if c.received == 0 {
		c.setReadDeadline(c.patience)
	}
	n, err := c.request.Body.Read(p)
	if c.received == 0 && n > 0 {
		c.setReadDeadline(messageTimeout)
	}
	before := min(c.received, c.limit)
	c.received += int64(n)
	if before < c.limit && c.received > c.limit {
		c.rejected(LimitMessage)
	}
	if !c.acquire(messageFactor * (min(c.received, c.limit) - before)) {
		return 0, c.outOfMemory()
	}
	switch cause := c.cause(); {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		c.clearReadDeadline()
		return n, err
	case cause != nil:
		c.err = callError(cause)
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline): // the context is about to expire
		c.err = callError(context.DeadlineExceeded)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.err = connect.NewError(connect.CodeDeadlineExceeded, errors.New("no message was received in time"))
	default:
		c.err = callError(err)
	}
	if c.request.ProtoMajor == 1 {
		c.Header().Set("Connection", "close") // net/http could interpret the rest of the body as the next request
	}
	return n, c.err
}

// Close implements io.Closer. It keeps the body open. Otherwise, data that arrives later would make net/http reset the stream, and the
// client might never read the status.
func (*call) Close() error { return nil }

func (c *call) setReadDeadline(timeout time.Duration) {
	deadline := time.Now().Add(timeout)
	if !c.deadline.IsZero() && c.deadline.Before(deadline) {
		deadline = c.deadline
	}
	_ = c.controller.SetReadDeadline(deadline) // if this fails, so does reading
	if c.cause() != nil {                      // the server may have already stopped reading
		_ = c.controller.SetReadDeadline(time.Now())
	}
}

func (c *call) clearReadDeadline() { _ = c.controller.SetReadDeadline(time.Time{}) }

// acquire acquires memory that the call holds until it receives the next message or ends. It returns false if the budget does not allow it.
func (c *call) acquire(bytes int64) bool {
	ok := c.Acquire(bytes)
	if ok {
		c.acquired += bytes
	}
	return ok
}

// outOfMemory counts a rejection for lack of memory, and returns the error that ends the call.
func (c *call) outOfMemory() error {
	c.rejected(transport.LimitMemory)
	c.err = connect.NewError(connect.CodeResourceExhausted, errors.New("the server does not have enough memory for the message"))
	return c.err
}

// callError returns the error for a call whose context is done, or whose connection has failed.
func callError(cause error) error {
	if e, ok := errors.AsType[*connect.Error](cause); ok {
		return e
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the deadline of the call was exceeded"))
	}
	return connect.NewError(connect.CodeCanceled, fmt.Errorf("the client ended the call: %w", cause))
}

func (c *call) Write(data []byte) (int, error) {
	c.beginWriting()
	if c.Status >= http.StatusBadRequest && c.err == nil { // Connect itself rejected the request
		var rejected struct{ Code connect.Code }
		if json.Unmarshal(data, &rejected) == nil {
			c.err = connect.NewError(rejected.Code, nil)
		}
	}
	n, err := c.Exchange.Write(data)
	if err != nil {
		c.err = callError(err)
		err = c.err
	}
	return n, err
}

// Flush implements http.Flusher. It blocks until the client can receive the written data.
func (c *call) Flush() {
	c.beginWriting()
	_ = c.controller.Flush() // the client may have disconnected
	// If the deadline stayed set, it would reset the stream, even if nothing is being sent.
	_ = c.controller.SetWriteDeadline(time.Time{})
	c.isWriting = false
}

// beginWriting sets the deadline for writing a message. It must be called before anything is written.
func (c *call) beginWriting() {
	if encodings := c.Header()["Grpc-Accept-Encoding"]; c.Status == 0 && len(encodings) == 1 && encodings[0] == "" {
		encodings[0] = "identity" // gRPC does not allow the empty list that Connect sends
	}
	if !c.isWriting {
		_ = c.controller.SetWriteDeadline(time.Now().Add(exchange.StallTimeout)) // if this fails, so does writing
		c.isWriting = true
	}
}

// code returns the status code of a call that has ended, or false if the response has only an HTTP status, such as 415.
func (c *call) code() (connect.Code, bool) {
	if c.err != nil {
		return connect.CodeOf(c.err), true
	}
	if c.isHandled {
		return 0, true
	}
	for _, name := range []string{http.TrailerPrefix + "Grpc-Status", "Grpc-Status"} { // in gRPC and gRPC-Web
		if code, err := strconv.Atoi(c.Header().Get(name)); err == nil {
			return connect.Code(code), true
		}
	}
	return connect.CodeUnknown, c.StatusOrOK() == http.StatusOK
}

// callInterceptor implements the interceptor methods that Connect calls after it reads a message.
type callInterceptor struct {
	connect.UnaryInterceptorFunc // implements the method for clients
}

func (callInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		response, err := next(ctx, request)
		return response, callOf(ctx).handled(err)
	}
}

func (callInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		c := callOf(ctx)
		return c.handled(next(ctx, &callConn{conn, c}))
	}
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

type callConn struct {
	connect.StreamingHandlerConn
	call *call
}

// Receive implements connect.StreamingHandlerConn. If the client may send only one message, Connect calls Receive a second time to make
// sure that no other message follows. In this case, the memory for the message stays reserved.
func (c *callConn) Receive(message any) error {
	if c.Spec().StreamType&connect.StreamTypeClient != 0 {
		c.call.Release(c.call.acquired)
		c.call.acquired, c.call.received = 0, 0
		defer c.call.clearReadDeadline()
	}
	return c.StreamingHandlerConn.Receive(message)
}
