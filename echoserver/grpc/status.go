package grpc

import (
	"fmt"

	"connectrpc.com/connect"
)

// statusCode is a gRPC status code.
type statusCode connect.Code

const (
	// codeOK is the code for success, for which Connect defines no constant.
	codeOK      statusCode = 0
	codeUnknown            = statusCode(connect.CodeUnknown)
)

// codeNames returns the names of all codes, starting with code 0.
func codeNames() []string {
	return []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
		"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
}

// String implements fmt.Stringer.
func (c statusCode) String() string { return codeNames()[c] }

func invalidArgument(format string, arguments ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, arguments...))
}
