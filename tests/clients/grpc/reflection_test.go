package grpc

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

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
