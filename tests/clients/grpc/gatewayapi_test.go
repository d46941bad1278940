package grpc

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
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
	_, err := client.EchoThree(ctx, &grpcechoserver.EchoRequest{})
	wantCode(t, err, codes.Unimplemented, "")
}
