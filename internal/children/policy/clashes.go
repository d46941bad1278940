package policy

import (
	"fmt"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// ValidateFields returns an *InvalidSpecError if fields of an Echo exclude each other. The schema leaves these rules to the operator, so that
// they can change together with defaults that no schema has.
func ValidateFields(echo *v1.Echo) error {
	for _, problem := range []string{portClash(echo), servicePortClash(echo), missingTLS(echo), hostnameClash(echo)} {
		if problem != "" {
			return &children.InvalidSpecError{Message: problem}
		}
	}
	return nil
}

// portClash returns why the containers cannot listen on the port for HTTPS, empty if they can.
func portClash(echo *v1.Echo) string {
	if !children.HasTLS(&echo.Spec) {
		return ""
	}
	switch port := children.HTTPSPort(echo.Spec.TLS); port {
	case echo.Spec.Port:
		return fmt.Sprintf("spec.tls.port %s, and so is spec.port. Set one of them to another port, because the containers listen on both.",
			isOrDefaults(echo.Spec.TLS.Port, port))
	case children.MetricsPort(echo):
		return fmt.Sprintf("spec.tls.port %s, which is the metrics port of the echo server. Set spec.tls.port to another port: "+
			"metrics use port 9090, or 9091 if spec.port is 9090.", isOrDefaults(echo.Spec.TLS.Port, port))
	}
	return ""
}

// servicePortClash returns why the Service cannot have the port for HTTPS, empty if it can.
func servicePortClash(echo *v1.Echo) string {
	if !children.HasTLS(&echo.Spec) || children.HTTPSServicePort(echo.Spec.TLS) != echo.Spec.Service.Port {
		return ""
	}
	return fmt.Sprintf("spec.tls.servicePort %s, and so is spec.service.port. Set one of them to another port, because the Service has both.",
		isOrDefaults(echo.Spec.TLS.ServicePort, echo.Spec.Service.Port))
}

// isOrDefaults says which port a field has, and whether it is the default.
func isOrDefaults(field, port int32) string {
	if field == 0 {
		return fmt.Sprintf("is %d by default", port)
	}
	return fmt.Sprintf("is %d", port)
}

// missingTLS returns why Gateways cannot connect over HTTPS, empty if they can or do not.
func missingTLS(echo *v1.Echo) string {
	if !children.HasGateway(echo) || echo.Spec.Gateway.BackendTLS == nil || children.HasTLS(&echo.Spec) {
		return ""
	}
	return "spec.gateway.backendTLS requires a certificate of the echo servers. Set spec.tls.secretName, or remove spec.gateway.backendTLS."
}

// hostnameClash returns which host names of the HTTPRoute and the GRPCRoute overlap, empty if none do.
func hostnameClash(echo *v1.Echo) string {
	if !children.HasGateway(echo) || echo.Spec.Gateway.GRPC == nil {
		return ""
	}
	for _, grpc := range echo.Spec.Gateway.GRPC.Hostnames {
		for _, http := range echo.Spec.Gateway.Hostnames {
			if covers(http, grpc) || covers(grpc, http) {
				return fmt.Sprintf("%s in spec.gateway.grpc.hostnames overlaps %s in spec.gateway.hostnames. Change one of them: "+
					"a listener accepts a host name from only one kind of route.", grpc, http)
			}
		}
	}
	return ""
}

// covers reports whether a host name, whose first label may be *, matches everything that another host name matches.
func covers(pattern, name string) bool {
	domain, wildcard := strings.CutPrefix(pattern, "*.")
	return pattern == name || wildcard && strings.HasSuffix(name, "."+domain)
}
