package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"
)

func TestParseGRPCTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"1H": time.Hour, "2M": 2 * time.Minute, "3S": 3 * time.Second, "4m": 4 * time.Millisecond,
		"5u": 5 * time.Microsecond, "6n": 6, "0n": 0, "99999999S": 99999999 * time.Second, "99999999H": math.MaxInt64} {
		if got, err := parseGRPCTimeout(text); got != want || err != nil {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "S", "123456789S", "-1S", "+1S", "1s", "1.5S", "1 S", "1SS"} {
		if got, err := parseGRPCTimeout(text); err == nil || grpcStatusOf(err).code != grpcInternal {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestGRPCStatusOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want grpcCode
	}{
		{nil, grpcOK},
		{grpcErrorf(grpcNotFound, "x"), grpcNotFound},
		{fmt.Errorf("reading: %w", grpcErrorf(grpcNotFound, "x")), grpcNotFound},
		{errProtobuf, grpcInvalidArgument},
		{io.ErrUnexpectedEOF, grpcInternal},
		{context.DeadlineExceeded, grpcDeadlineExceeded},
		{context.Canceled, grpcCancelled},
		{errors.New("stream error"), grpcCancelled},
	} {
		if got := grpcStatusOf(c.err); got.code != c.want || (c.err == nil) != (got.message == "") {
			t.Errorf("%v is %v, want %s", c.err, got, c.want)
		}
	}
	if len(grpcCodeNames()) != 17 || grpcUnavailable.String() != "UNAVAILABLE" || grpcInternal.String() != "INTERNAL" {
		t.Errorf("the names are %v", grpcCodeNames())
	}
}

func TestPercentEncoded(t *testing.T) {
	if got, want := percentEncoded("a b~%\n\x7fü"), "a b~%25%0A%7F%C3%BC"; got != want {
		t.Errorf("encoded it is %s, want %s", got, want)
	}
}
