package grpc

import (
	"errors"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/echo-operator/echo-operator/tests/clients"
)

const (
	serving    = health.HealthCheckResponse_SERVING
	notServing = health.HealthCheckResponse_NOT_SERVING
)

func TestHealth(t *testing.T) {
	client := health.NewHealthClient(dial(t, clients.Start(t)))
	for _, name := range []string{"", "echo.v1.Echo", "gateway_api_conformance.echo_basic.grpcecho.GrpcEcho"} {
		if got, err := client.Check(soon(t), &health.HealthCheckRequest{Service: name}); err != nil || got.GetStatus() != serving {
			t.Errorf("%q is %v, %v", name, got, err)
		}
	}
	_, err := client.Check(soon(t), &health.HealthCheckRequest{Service: "other"})
	wantCode(t, err, codes.NotFound, "unknown service other")
	_, err = client.List(soon(t), &health.HealthListRequest{})
	wantCode(t, err, codes.Unimplemented, "")
	watch, err := client.Watch(soon(t), &health.HealthCheckRequest{Service: "other"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != health.HealthCheckResponse_SERVICE_UNKNOWN {
		t.Errorf("an unknown service is %v, %v", got, err)
	}
}

// TestDrain stops a server whose drain delay exceeds the duration of the test. The server must notify clients that watch its health, and
// must continue to serve calls.
func TestDrain(t *testing.T) {
	server := clients.Run(t, "ECHO_DRAIN_DELAY=1h")
	watched := health.NewHealthClient(dial(t, server.Address))
	watch, err := watched.Watch(soon(t), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != serving {
		t.Fatalf("before, it is %v, %v", got, err)
	}
	client := newEchoClient(t, server.Address)
	stream := client.stream(soon(t), t, "BidiStream")
	exchange := func() error {
		return errors.Join(stream.SendMsg(client.request(t, "BidiStream", "{}")), stream.RecvMsg(client.response("BidiStream")))
	}
	if err := exchange(); err != nil {
		t.Fatal(err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if got, err := watch.Recv(); err != nil || got.GetStatus() != notServing {
		t.Errorf("while it drains, it is %v, %v", got, err)
	}
	if got, err := watched.Check(soon(t), &health.HealthCheckRequest{}); err != nil || got.GetStatus() != notServing {
		t.Errorf("while it drains, it is %v, %v", got, err)
	}
	response, err := newEchoClient(t, server.Address).unary(soon(t), t, "{}")
	if err != nil || field(response, "call.server.draining") != "true" {
		t.Errorf("the response on a new connection is %v, %v", response, err)
	}
	if err := exchange(); err != nil {
		t.Errorf("the stream ends early: %v", err)
	}
}
