package objects

import (
	"cmp"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// HTTPRoute returns the HTTPRoute from an Echo's Gateways to its Service, or nil if the HTTPRoute is disabled.
func HTTPRoute(echo *v1.Echo, _ Config) any {
	if !HasGateway(echo) {
		return nil
	}
	desired := echo.Spec.Gateway
	rule := gatewayv1ac.HTTPRouteRule().
		WithMatches(gatewayv1ac.HTTPRouteMatch().WithPath(gatewayv1ac.HTTPPathMatch().
			WithType(gatewayv1.PathMatchPathPrefix).
			WithValue(cmp.Or(desired.Path, "/")))).
		WithBackendRefs(gatewayv1ac.HTTPBackendRef().
			WithGroup("").
			WithKind("Service").
			WithName(gatewayv1.ObjectName(echo.Name)).
			WithPort(routedPort(echo)).
			WithWeight(1))
	return gatewayv1ac.HTTPRoute(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(gatewayv1ac.HTTPRouteSpec().
			WithParentRefs(parents(echo)...).
			WithHostnames(hostnamesOf(desired.Hostnames)...).
			WithRules(rule))
}
