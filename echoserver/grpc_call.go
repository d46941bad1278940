package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// grpcMessageTimeout is how long a client may take to send a message.
	grpcMessageTimeout = 30 * time.Second
	// betweenMessages is how long a stream may be idle between two messages of the client.
	betweenMessages = 10 * time.Minute
)

// grpcCall is a call in progress.
type grpcCall struct {
	*handler
	exchange   *exchange
	request    *http.Request
	controller *http.ResponseController
	cancel     context.CancelCauseFunc
	reading    sync.WaitGroup
	abandoned  bool // a message is still being read
}

// start returns the call of a request and its context, which ends at the deadline of the client and, if the call is a stream, when the
// server ends. The function ends the call.
func (h *handler) start(e *exchange, r *http.Request, isStream bool) (ctx context.Context, c *grpcCall, end func(), err error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	c = &grpcCall{handler: h, exchange: e, request: r, controller: http.NewResponseController(e), cancel: cancel}
	if isStream && !e.take(waitingCost) {
		h.metrics.limited(limitMemory)
		cancel(nil)
		return nil, nil, nil, errNoMemory
	}
	setDeadlines(e, time.Time{}) // each message has deadlines of its own
	stop := func() {}
	if text := r.Header.Get("Grpc-Timeout"); text != "" {
		timeout, err := parseGRPCTimeout(text)
		if err != nil {
			cancel(nil)
			return nil, nil, nil, err
		}
		ctx, stop = context.WithTimeout(ctx, timeout)
	}
	if isStream {
		go c.cancelAtEnd(ctx)
	}
	return ctx, c, func() {
		stop()
		cancel(nil)
		c.awaitReader()
	}, nil
}

func (c *grpcCall) cancelAtEnd(ctx context.Context) {
	select {
	case <-c.life.ending:
		c.cancel(grpcErrorf(grpcUnavailable, "the server is stopping"))
	case <-ctx.Done():
	}
}

// awaitReader interrupts reading if that has not ended yet. Otherwise the body is not closed, because net/http would reset the stream if
// more of it arrived, and the client might never read the status.
func (c *grpcCall) awaitReader() {
	if c.abandoned {
		_ = c.request.Body.Close() // it returns no error in HTTP/2
	}
	c.reading.Wait()
}

// receive returns the next message, which must begin within the timeout, or io.EOF if the client has sent all messages.
func (c *grpcCall) receive(ctx context.Context, timeout time.Duration) (*grpcMessage, error) {
	type result struct {
		message *grpcMessage
		err     error
	}
	received := make(chan result)
	c.reading.Go(func() {
		message, err := c.read(timeout)
		select {
		case received <- result{message, err}:
		case <-ctx.Done():
			if err == nil {
				message.release()
			}
		}
	})
	select {
	case r := <-received:
		return r.message, r.err
	case <-ctx.Done():
		c.abandoned = true
		return nil, context.Cause(ctx)
	}
}

// receiveOne returns the only message of a client that sends one.
func (c *grpcCall) receiveOne(ctx context.Context) (*grpcMessage, error) {
	message, err := c.receive(ctx, grpcMessageTimeout)
	if errors.Is(err, io.EOF) {
		return nil, grpcErrorf(grpcInternal, "the request has no message")
	}
	return message, err
}

func (c *grpcCall) read(timeout time.Duration) (*grpcMessage, error) {
	overdue := time.AfterFunc(timeout, func() { c.cancel(grpcErrorf(grpcDeadlineExceeded, "no message was received in time")) })
	defer overdue.Stop()
	var flag [1]byte
	if _, err := io.ReadFull(c.request.Body, flag[:]); err != nil {
		return nil, err
	}
	overdue.Reset(grpcMessageTimeout)
	message, err := readGRPCMessage(flag[0], c.request.Body, largeShare{&c.budget.requests})
	switch {
	case errors.Is(err, errGRPCMessageTooLarge):
		c.metrics.limited(limitGRPCMessage)
	case errors.Is(err, errNoMemory):
		c.metrics.limited(limitMemory)
	}
	return message, err
}

// send sends a message that consists of parts, and waits until the client can receive it.
func (c *grpcCall) send(parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(size)) // a message is much smaller than 4 GiB
	err := c.controller.SetWriteDeadline(time.Now().Add(stallTimeout))
	for _, part := range append([][]byte{prefix}, parts...) {
		if err == nil {
			_, err = c.exchange.Write(part)
		}
	}
	// A deadline that passes while nothing is sent would also reset the stream.
	return errors.Join(err, c.controller.Flush(), c.controller.SetWriteDeadline(time.Time{}))
}

// wait waits for a duration, or until the call ends.
func wait(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
