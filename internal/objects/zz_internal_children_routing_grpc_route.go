package objects

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// GRPCRoute returns the GRPCRoute from an Echo's Gateways to its Service, or nil if the GRPCRoute is disabled.
func GRPCRoute(echo *v1.Echo, _ Config) any {
	if !HasGateway(echo) || echo.Spec.Gateway.GRPC == nil {
		return nil
	}
	desired := echo.Spec.Gateway
	rule := gatewayv1ac.GRPCRouteRule().WithBackendRefs(gatewayv1ac.GRPCBackendRef().
		WithGroup("").
		WithKind("Service").
		WithName(gatewayv1.ObjectName(echo.Name)).
		WithPort(routedPort(echo)).
		WithWeight(1))
	return gatewayv1ac.GRPCRoute(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(gatewayv1ac.GRPCRouteSpec().
			WithParentRefs(parents(echo)...).
			WithHostnames(hostnamesOf(desired.GRPC.Hostnames)...).
			WithRules(rule))
}
