package grpc

import (
	"path/filepath"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// TestGatewayAPI calls the echo server as the Gateway API conformance suite does.
func TestGatewayAPI(t *testing.T) {
	address := clients.Start(t, "ECHO_POD_NAMESPACE=ns", "ECHO_POD_NAME=pod-1", "ECHO_SERVICE_NAME=service", "ECHO_INGRESS_NAME=ingress")
	client := grpcechoserver.NewGrpcEchoClient(dial(t, address, grpc.WithAuthority("example.com")))
	ctx := metadata.AppendToOutgoingContext(soon(t), "x-a", "1")
	for name, method := range map[string]func() (*grpcechoserver.EchoResponse, error){
		"Echo": func() (*grpcechoserver.EchoResponse, error) { return client.Echo(ctx, &grpcechoserver.EchoRequest{}) },
		"EchoTwo": func() (*grpcechoserver.EchoResponse, error) {
			return client.EchoTwo(ctx, &grpcechoserver.EchoRequest{})
		},
	} {
		response, err := method()
		if err != nil {
			t.Fatal(err)
		}
		got := response.GetAssertions()
		where := got.GetContext()
		if got.GetFullyQualifiedMethod() != "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/"+name ||
			got.GetAuthority() != "example.com" ||
			where.GetNamespace() != "ns" || where.GetPod() != "pod-1" || where.GetServiceName() != "service" || where.GetIngress() != "ingress" ||
			got.GetTlsAssertions() != nil {
			t.Errorf("%s: the response is %v", name, response)
		}
		headers := map[string]string{}
		for _, header := range got.GetHeaders() {
			headers[header.GetKey()] = header.GetValue()
		}
		if headers["x-a"] != "1" || headers[":authority"] != "example.com" || headers["content-type"] != "application/grpc" {
			t.Errorf("%s: the headers are %v", name, headers)
		}
	}
	if _, err := client.EchoThree(ctx, &grpcechoserver.EchoRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("EchoThree: %v", err)
	}
}

// TestGatewayAPIProto compares the project's copy of the Gateway API echo service with the original. It ignores options, because they do
// not affect the messages.
func TestGatewayAPIProto(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "echoserver", "proto")
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{folder}}}
	files, err := compiler.Compile(t.Context(), "grpcecho.proto")
	if err != nil {
		t.Fatal(err)
	}
	withoutOptions := func(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
		described := protodesc.ToFileDescriptorProto(file)
		described.Options = nil
		for _, method := range described.GetService()[0].GetMethod() {
			method.Options = nil
		}
		return described
	}
	if got, want := withoutOptions(files[0]), withoutOptions(grpcechoserver.File_grpcecho_proto); !proto.Equal(got, want) {
		t.Errorf("grpcecho.proto describes %v, want %v", got, want)
	}
}
