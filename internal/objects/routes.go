package objects

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// These are the Gateway API kinds that the operator uses. A Gateway is a route's parent.
const (
	GatewayKind          = "Gateway"
	HTTPRouteKind        = "HTTPRoute"
	GRPCRouteKind        = "GRPCRoute"
	BackendTLSPolicyKind = "BackendTLSPolicy"
)

// GatewayGroupVersion returns the group and version of Gateway API: https://gateway-api.sigs.k8s.io.
func GatewayGroupVersion() schema.GroupVersion { return schema.GroupVersion(gatewayv1.GroupVersion) }

// httpRoute returns the HTTPRoute from an Echo's Gateways to its Service, or nil if the HTTPRoute is disabled.
func httpRoute(echo *v1.Echo, _ Config) any {
	if !HasGateway(echo) {
		return nil
	}
	desired := echo.Spec.Gateway
	rule := gatewayv1ac.HTTPRouteRule().
		WithMatches(gatewayv1ac.HTTPRouteMatch().WithPath(gatewayv1ac.HTTPPathMatch().
			WithType(gatewayv1.PathMatchPathPrefix).
			WithValue(cmp.Or(desired.Path, "/")))).
		WithBackendRefs(&gatewayv1ac.HTTPBackendRefApplyConfiguration{BackendRefApplyConfiguration: backend(echo)})
	return gatewayv1ac.HTTPRoute(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(gatewayv1ac.HTTPRouteSpec().
			WithParentRefs(parents(echo)...).
			WithHostnames(*asConfiguration[[]gatewayv1.Hostname](desired.Hostnames)...).
			WithRules(rule))
}

// grpcRoute returns the GRPCRoute from an Echo's Gateways to its Service, or nil if the GRPCRoute is disabled.
func grpcRoute(echo *v1.Echo, _ Config) any {
	if !HasGateway(echo) || echo.Spec.Gateway.GRPC == nil {
		return nil
	}
	desired := echo.Spec.Gateway
	rule := gatewayv1ac.GRPCRouteRule().
		WithBackendRefs(&gatewayv1ac.GRPCBackendRefApplyConfiguration{BackendRefApplyConfiguration: backend(echo)})
	return gatewayv1ac.GRPCRoute(echo.Name, echo.Namespace).
		WithAnnotations(desired.Annotations).
		WithSpec(gatewayv1ac.GRPCRouteSpec().
			WithParentRefs(parents(echo)...).
			WithHostnames(*asConfiguration[[]gatewayv1.Hostname](desired.GRPC.Hostnames)...).
			WithRules(rule))
}

// backendTLSPolicy returns the BackendTLSPolicy that makes an Echo's Gateways connect to the Echo over HTTPS, or nil if they use HTTP.
func backendTLSPolicy(echo *v1.Echo, _ Config) any {
	if !HasGateway(echo) || echo.Spec.Gateway.BackendTLS == nil {
		return nil
	}
	desired := echo.Spec.Gateway.BackendTLS
	return gatewayv1ac.BackendTLSPolicy(echo.Name, echo.Namespace).
		WithSpec(gatewayv1ac.BackendTLSPolicySpec().
			WithTargetRefs(gatewayv1ac.LocalPolicyTargetReferenceWithSectionName().
				WithGroup("").
				WithKind("Service").
				WithName(gatewayv1.ObjectName(echo.Name)).
				WithSectionName(httpsPortName)).
			WithValidation(gatewayv1ac.BackendTLSPolicyValidation().
				WithHostname(gatewayv1.PreciseHostname(desired.Hostname)).
				WithCACertificateRefs(gatewayv1ac.LocalObjectReference().
					WithGroup("").
					WithKind("ConfigMap").
					WithName(gatewayv1.ObjectName(desired.CAConfigMap)))))
}

// parents returns references to an Echo's Gateways. They contain the API server's defaults, because the list is compared as a whole.
func parents(echo *v1.Echo) []*gatewayv1ac.ParentReferenceApplyConfiguration {
	all := asConfigurations[gatewayv1ac.ParentReferenceApplyConfiguration](echo.Spec.Gateway.ParentRefs)
	for _, parent := range all {
		parent.WithGroup(gatewayv1.GroupName).WithKind(GatewayKind)
	}
	return all
}

// backend returns a reference to the port of an Echo's Service to which gateways send requests: the HTTPS port if they connect over HTTPS,
// and the HTTP port otherwise.
func backend(echo *v1.Echo) gatewayv1ac.BackendRefApplyConfiguration {
	port := echo.Spec.Service.Port
	if echo.Spec.Gateway.BackendTLS != nil && hasTLS(&echo.Spec) {
		port = httpsServicePort(&echo.Spec)
	}
	return *gatewayv1ac.BackendRef().
		WithGroup("").
		WithKind("Service").
		WithName(gatewayv1.ObjectName(echo.Name)).
		WithPort(port).
		WithWeight(1)
}
