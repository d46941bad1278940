package remedy

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

// Route returns what to do if a Gateway does not use a route or a policy, given the condition's reason.
func Route(reason string) string {
	switch gatewayv1.RouteConditionReason(reason) {
	case gatewayv1.RouteReasonNotAllowedByListeners:
		return "Allow routes from this namespace in a listener of the Gateway (allowedRoutes)."
	case gatewayv1.RouteReasonNoMatchingListenerHostname:
		return "Change spec.gateway.hostnames so that a listener of the Gateway matches them."
	case gatewayv1.RouteReasonNoMatchingParent:
		return "Set sectionName in spec.gateway.parentRefs to the name of a listener of the Gateway."
	case gatewayv1.RouteReasonUnsupportedValue, gatewayv1.RouteReasonUnsupportedProtocol, gatewayv1.RouteReasonIncompatibleFilters,
		gatewayv1.RouteReasonInvalidKind:
		return "Use a Gateway whose controller supports this, or change spec.gateway."
	default:
		return "Check spec.gateway in the Echo, and the listeners of the Gateway."
	}
}
