package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// grpcCode is a status code of gRPC.
type grpcCode int

// The codes that this server uses by itself. Requests can ask for each of grpcCodeNames.
const (
	grpcOK                grpcCode = 0
	grpcCancelled         grpcCode = 1
	grpcInvalidArgument   grpcCode = 3
	grpcDeadlineExceeded  grpcCode = 4
	grpcNotFound          grpcCode = 5
	grpcResourceExhausted grpcCode = 8
	grpcUnimplemented     grpcCode = 12
	grpcInternal          grpcCode = 13
	grpcUnavailable       grpcCode = 14
)

// grpcCodeNames returns the names of the codes, starting with code 0.
func grpcCodeNames() []string {
	return []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
		"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
}

// String implements fmt.Stringer.
func (c grpcCode) String() string { return grpcCodeNames()[c] }

// grpcStatus is the end of a call.
type grpcStatus struct {
	code    grpcCode
	message string
}

// Error implements error.
func (s grpcStatus) Error() string { return s.code.String() + ": " + s.message }

func grpcErrorf(code grpcCode, format string, arguments ...any) error {
	return grpcStatus{code, fmt.Sprintf(format, arguments...)}
}

// grpcStatusOf returns the status for the error that ended a call.
func grpcStatusOf(err error) grpcStatus {
	status, ok := errors.AsType[grpcStatus](err)
	switch {
	case ok:
		return status
	case err == nil:
		return grpcStatus{}
	case errors.Is(err, errProtobuf):
		return grpcStatus{grpcInvalidArgument, err.Error()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return grpcStatus{grpcInternal, "the request ended within a message"}
	case errors.Is(err, context.DeadlineExceeded):
		return grpcStatus{grpcDeadlineExceeded, "the deadline of the call was exceeded"}
	}
	return grpcStatus{grpcCancelled, "the client ended the call"}
}

// percentEncoded returns a message as the trailer grpc-message requires.
func percentEncoded(message string) string {
	var b strings.Builder
	for i := range len(message) {
		if c := message[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// parseGRPCTimeout parses the header grpc-timeout: at most 8 digits and a unit.
func parseGRPCTimeout(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond,
		'n': time.Nanosecond}
	if len(text) >= 2 && len(text) <= 9 {
		unit := units[text[len(text)-1]]
		n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
		switch {
		case unit == 0 || err != nil:
		case n > uint64(math.MaxInt64/unit): // longer than 292 years
			return math.MaxInt64, nil
		default:
			return time.Duration(n) * unit, nil
		}
	}
	return 0, grpcErrorf(grpcInternal, "grpc-timeout: %q is not at most 8 digits and one of H, M, S, m, u and n", text)
}
