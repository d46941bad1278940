package server

import (
	"fmt"

	"connectrpc.com/connect"
)

// grpcCode is a status code of gRPC.
type grpcCode connect.Code

const (
	// grpcOK is the code of success, which connect has no name for.
	grpcOK      grpcCode = 0
	grpcUnknown          = grpcCode(connect.CodeUnknown)
)

// grpcCodeNames returns the names of the codes, starting with code 0.
func grpcCodeNames() []string {
	return []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
		"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
}

// String implements fmt.Stringer.
func (c grpcCode) String() string { return grpcCodeNames()[c] }

func invalidArgument(format string, arguments ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, arguments...))
}
