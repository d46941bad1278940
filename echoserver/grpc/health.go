package grpc

import (
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
)

// statusServiceUnknown is SERVICE_UNKNOWN in grpc.health.v1, for which grpchealth defines no constant. Only Watch returns this status.
const statusServiceUnknown grpchealth.Status = 3

// healthChecker implements grpchealth.Checker and grpchealth.Watcher.
type healthChecker struct {
	draining func() bool
	notReady <-chan struct{} // closed when the server begins to drain
}

var _ grpchealth.Watcher = (*healthChecker)(nil) // grpchealth checks this only at run time

// Check implements grpchealth.Checker. An empty service name means the server as a whole.
func (h *healthChecker) Check(ctx context.Context, request *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	status := grpchealth.StatusServing
	switch {
	case !slices.Contains([]string{"", echov1.EchoName, grpcecho.GrpcEchoName}, request.Service):
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok && info.Spec().Procedure == healthCheckProcedure {
			return nil, connect.NewError(connect.CodeNotFound, errors.New("unknown service "+exchange.Truncate(request.Service)))
		}
		status = statusServiceUnknown
	case h.draining():
		status = grpchealth.StatusNotServing
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}

// Watch implements grpchealth.Watcher.
func (h *healthChecker) Watch(ctx context.Context, _ *grpchealth.CheckRequest, onChange func()) (stop func(), err error) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		select {
		case <-h.notReady:
			onChange()
		case <-ctx.Done():
		}
	}()
	return stop, nil
}
