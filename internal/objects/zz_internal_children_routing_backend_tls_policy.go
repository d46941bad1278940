package objects

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// BackendTLSPolicy returns the BackendTLSPolicy that makes an Echo's Gateways connect to the Echo over HTTPS, or nil if they use HTTP.
func BackendTLSPolicy(echo *v1.Echo, _ Config) any {
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
				WithSectionName(HTTPSPortName)).
			WithValidation(gatewayv1ac.BackendTLSPolicyValidation().
				WithHostname(gatewayv1.PreciseHostname(desired.Hostname)).
				WithCACertificateRefs(gatewayv1ac.LocalObjectReference().
					WithGroup("").
					WithKind("ConfigMap").
					WithName(gatewayv1.ObjectName(desired.CAConfigMap)))))
}
