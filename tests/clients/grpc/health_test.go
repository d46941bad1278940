package grpc

import (
	"syscall"
	"testing"

	health "google.golang.org/grpc/health/grpc_health_v1"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// TestDrain stops a server whose drain delay exceeds the duration of the test. The server must notify clients that watch its health, and
// must continue to serve calls.
func TestDrain(t *testing.T) {
	server := clients.Run(t, "ECHO_DRAIN_DELAY=1h")
	client := health.NewHealthClient(dial(t, server.Address))
	watch, err := client.Watch(soon(t), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != health.HealthCheckResponse_SERVING {
		t.Fatalf("before, it is %v, %v", got, err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it drains, it is %v, %v", got, err)
	}
	got, err := client.Check(soon(t), &health.HealthCheckRequest{Service: "echo.v1.Echo"})
	if err != nil || got.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it drains, it is %v, %v", got, err)
	}
	if _, err := grpcechoserver.NewGrpcEchoClient(dial(t, server.Address)).Echo(soon(t), &grpcechoserver.EchoRequest{}); err != nil {
		t.Errorf("a call on a new connection: %v", err)
	}
}
