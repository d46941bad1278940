package grpc

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/echo-operator/echo-operator/tests/clients"
)

func TestReflection(t *testing.T) {
	connection := dial(t, clients.Start(t))
	stream, err := reflectionv1.NewServerReflectionClient(connection).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(request *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(response.GetOriginalRequest(), request) || response.GetValidHost() != request.GetHost() {
			t.Errorf("the response to %v is %v", request, response)
		}
		return response
	}
	var services []string
	for _, service := range ask(&reflectionv1.ServerReflectionRequest{Host: "a", MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{ListServices: "*"}}).
		GetListServicesResponse().GetService() {
		services = append(services, service.GetName())
	}
	if want := []string{"echo.v1.Echo", "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho", "grpc.health.v1.Health",
		"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}; !slices.Equal(services, want) {
		t.Errorf("the services are %v", services)
	}
	for symbol, found := range map[string]bool{
		services[0]: true, services[1]: true, services[2]: true, services[3]: true, services[4]: true, "echo.v1.Echo.Unary": true, "echo.v1.Call": true,
		"echo.v1.Server.InfoEntry": true, "echo.v1.Call.method": true, "grpc.health.v1.HealthCheckResponse.ServingStatus": true,
		"grpc.health.v1.HealthCheckResponse.SERVING": true, "echo.v1.Echo.None": false, "echo.v1": false, "": false, "none": false, "echo.v1.Call.": false,
	} {
		response := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
		if !found && response.GetErrorResponse().GetErrorCode() == int32(codes.NotFound) {
			continue
		}
		file := &descriptorpb.FileDescriptorProto{}
		files := response.GetFileDescriptorResponse().GetFileDescriptorProto()
		if !found || len(files) != 1 || proto.Unmarshal(files[0], file) != nil {
			t.Errorf("%q: the response is %v", symbol, response)
			continue
		}
		if _, err := protodesc.NewFile(file, nil); err != nil {
			t.Errorf("%q: %v", symbol, err)
		}
		byName := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileByFilename{FileByFilename: file.GetName()}})
		if got := byName.GetFileDescriptorResponse().GetFileDescriptorProto(); len(got) != 1 || !slices.Equal(got[0], files[0]) {
			t.Errorf("%s: the response is %v", file.GetName(), byName)
		}
	}
	if got := ask(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_AllExtensionNumbersOfType{
		AllExtensionNumbersOfType: "echo.v1.Call"}}); got.GetAllExtensionNumbersResponse() == nil || len(got.GetAllExtensionNumbersResponse().GetExtensionNumber()) > 0 {
		t.Errorf("of extensions it says %v", got)
	}
}

// TestOlderReflection uses the messages of v1, because those of v1alpha have the same fields.
func TestOlderReflection(t *testing.T) {
	stream, err := dial(t, clients.Start(t)).NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
	if err != nil {
		t.Fatal(err)
	}
	response := &reflectionv1.ServerReflectionResponse{}
	if err := errors.Join(stream.SendMsg(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}),
		stream.RecvMsg(response)); err != nil || len(response.GetListServicesResponse().GetService()) != 5 {
		t.Errorf("the response is %v, %v", response, err)
	}
}
