// Package grpc tests the gRPC services of the echo server with the clients of grpc-go and the Gateway API.
package grpc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

var protoFolder = filepath.Join("..", "..", "..", "echoserver", "proto")

// echoProto compiles the service of the echo server.
func echoProto(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{protoFolder}}}
	files, err := compiler.Compile(t.Context(), "echo.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// TestDescriptorsAreCurrent compares the descriptors of the echo server with the services. UPDATE=1 writes them instead.
func TestDescriptorsAreCurrent(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range []protoreflect.FileDescriptor{echoProto(t), grpcechoserver.File_grpcecho_proto, grpc_health_v1.File_grpc_health_v1_health_proto,
		reflectionv1.File_grpc_reflection_v1_reflection_proto, reflectionv1alpha.File_grpc_reflection_v1alpha_reflection_proto} {
		if file.Imports().Len() > 0 {
			t.Fatalf("%s imports other files, which the server does not expect", file.Path())
		}
		described := protodesc.ToFileDescriptorProto(file)
		described.Options = nil // only for generated code
		set.File = append(set.File, described)
	}
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(protoFolder, "descriptors.binpb")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not current (%v): run this test with UPDATE=1", path, err)
	}
}
