// Package grpc tests the echo server's gRPC services with the clients of grpc-go and the Gateway API.
package grpc

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// TestReflection lists and describes the services through gRPC reflection. The v1 and v1alpha messages are the same.
func TestReflection(t *testing.T) {
	connection := dial(t, clients.Start(t))
	services := []string{"echo.v1.Echo", "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho", "grpc.health.v1.Health",
		"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}
	for _, version := range services[3:] {
		stream, err := connection.NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
			"/"+version+"/ServerReflectionInfo")
		if err != nil {
			t.Fatal(err)
		}
		ask := func(request *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
			response := &reflectionv1.ServerReflectionResponse{}
			if err := errors.Join(stream.SendMsg(request), stream.RecvMsg(response)); err != nil {
				t.Fatal(err)
			}
			return response
		}
		var listed []string
		list := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
		for _, service := range list.GetListServicesResponse().GetService() {
			listed = append(listed, service.GetName())
		}
		if !slices.Equal(listed, services) {
			t.Errorf("%s: the services are %v", version, listed)
		}
		for _, service := range services {
			response := ask(&reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}})
			files := response.GetFileDescriptorResponse().GetFileDescriptorProto()
			if len(files) != 1 || proto.Unmarshal(files[0], &descriptorpb.FileDescriptorProto{}) != nil {
				t.Errorf("%s: %s is described by %v", version, service, response)
			}
		}
	}
}

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
