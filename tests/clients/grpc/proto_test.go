// Package grpc tests the echo server's gRPC services with the clients of grpc-go and the Gateway API.
package grpc

import (
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

// echoProto compiles the echo server's own service.
func echoProto(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	return compiled(t, "echo.proto")
}

// compiled compiles one of the echo server's .proto files.
func compiled(t *testing.T, name string) protoreflect.FileDescriptor {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "echoserver", "proto")
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{folder}}}
	files, err := compiler.Compile(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// TestGatewayAPIProto compares the project's copy of the Gateway API echo service with the original. It ignores options, because they do
// not affect the messages.
func TestGatewayAPIProto(t *testing.T) {
	withoutOptions := func(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
		described := protodesc.ToFileDescriptorProto(file)
		described.Options = nil
		for _, method := range described.GetService()[0].GetMethod() {
			method.Options = nil
		}
		return described
	}
	got, want := withoutOptions(compiled(t, "grpcecho.proto")), withoutOptions(grpcechoserver.File_grpcecho_proto)
	if !proto.Equal(got, want) {
		t.Errorf("grpcecho.proto describes %v, want %v", got, want)
	}
}
