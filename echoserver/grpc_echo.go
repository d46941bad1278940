package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"
	"unicode/utf8"
)

const (
	// maxStreamCount is the maximum number of responses that a request can ask for.
	maxStreamCount = 1000
	// wireMessage and wireData are the numbers of the fields in which requests and responses of echo.v1.Echo have text and bytes.
	wireMessage, wireData = 1, 2
)

// grpcEcho is the message EchoRequest or ServerStreamRequest of echo.v1.
type grpcEcho struct {
	message, data []byte
	count         uint64
	interval      uint64 // in milliseconds
}

// parseGRPCEcho parses a request. Its result is part of the message.
func parseGRPCEcho(message []byte) (grpcEcho, error) {
	var echo grpcEcho
	err := eachField(message, func(f protobufField) {
		switch {
		case f.is(wireMessage, wireBytes):
			echo.message = f.data
		case f.is(wireData, wireBytes):
			echo.data = f.data
		case f.is(3, wireVarint):
			echo.count = f.varint
		case f.is(4, wireVarint):
			echo.interval = f.varint
		}
	})
	if err != nil {
		return echo, err
	}
	if !utf8.Valid(echo.message) {
		return echo, grpcErrorf(grpcInvalidArgument, "message: not UTF-8; use data for bytes")
	}
	return echo, nil
}

// size returns the size of what is sent back.
func (g *grpcEcho) size() int { return len(g.message) + len(g.data) }

// checkStream returns an error if a stream of responses would exceed a limit.
func (g *grpcEcho) checkStream() error {
	switch {
	case g.count > maxStreamCount:
		return grpcErrorf(grpcInvalidArgument, "count: %d is not a number from 0 to %d", g.count, maxStreamCount)
	case g.interval > uint64(maxDelay/time.Millisecond):
		return grpcErrorf(grpcInvalidArgument, "interval_milliseconds: %d is not a number from 0 to %d", g.interval, maxDelay/time.Millisecond)
	case int(g.count)*g.size() > maxSize: // count is at most maxStreamCount
		return grpcErrorf(grpcInvalidArgument, "count: %d responses of %d bytes are more than %d bytes", g.count, g.size(), maxSize)
	}
	return nil
}

// sendEcho sends an EchoResponse. Only the first one of a stream describes the call, because that can be much larger than a request.
func (c *grpcCall) sendEcho(echo *grpcEcho, number uint64) error {
	var before, middle protobuf
	before.varint(3, number)
	if number == 1 {
		before.message(4, c.describeCall())
	}
	if len(echo.message) > 0 {
		before.header(wireMessage, len(echo.message))
	}
	if len(echo.data) > 0 {
		middle.header(wireData, len(echo.data))
	}
	return c.send(before, echo.message, middle, echo.data)
}

// receiveEcho returns the only message of a client, which must be released, and what it means.
func (c *grpcCall) receiveEcho(ctx context.Context) (*grpcMessage, grpcEcho, error) {
	message, err := c.receiveOne(ctx)
	if err != nil {
		return nil, grpcEcho{}, err
	}
	echo, err := parseGRPCEcho(message.data)
	if err != nil {
		message.release()
	}
	return message, echo, err
}

func echoUnary(ctx context.Context, c *grpcCall) error {
	message, echo, err := c.receiveEcho(ctx)
	if err != nil {
		return err
	}
	defer message.release()
	return c.sendEcho(&echo, 1)
}

func echoServerStream(ctx context.Context, c *grpcCall) error {
	message, echo, err := c.receiveEcho(ctx)
	if err != nil {
		return err
	}
	defer message.release()
	if err := echo.checkStream(); err != nil {
		return err
	}
	for number := uint64(1); ; number++ {
		if err := c.sendEcho(&echo, number); err != nil || number >= echo.count {
			return err
		}
		if err := wait(ctx, time.Duration(echo.interval)*time.Millisecond); err != nil { // checked
			return err
		}
	}
}

func echoClientStream(ctx context.Context, c *grpcCall) error {
	var response protobuf
	messages, size, digest := uint64(0), 0, sha256.New()
	err := c.eachEcho(ctx, func(echo *grpcEcho) error {
		messages++
		size += echo.size()
		digest.Write(echo.message)
		digest.Write(echo.data)
		return nil
	})
	if err != nil {
		return err
	}
	response.varint(1, messages)
	response.varint(2, uint64(size)) // a size is not negative
	response.text(3, hex.EncodeToString(digest.Sum(nil)))
	response.message(4, c.describeCall())
	return c.send(response)
}

func echoBidiStream(ctx context.Context, c *grpcCall) error {
	number := uint64(0)
	return c.eachEcho(ctx, func(echo *grpcEcho) error {
		number++
		return c.sendEcho(echo, number)
	})
}

// eachEcho calls visit with each request of a stream, until the client has sent all.
func (c *grpcCall) eachEcho(ctx context.Context, visit func(*grpcEcho) error) error {
	for {
		message, err := c.receive(ctx, betweenMessages)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		echo, err := parseGRPCEcho(message.data)
		if err == nil {
			err = visit(&echo)
		}
		message.release()
		if err != nil {
			return err
		}
	}
}
