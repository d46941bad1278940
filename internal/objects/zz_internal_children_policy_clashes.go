package objects

import (
	"cmp"
	"fmt"
	"strings"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// ValidateFields returns an *InvalidSpecError if fields of an Echo conflict with each other. These rules are not in the schema, so that
// they can change together with defaults outside the schema.
func ValidateFields(echo *v1.Echo) error {
	if err := cmp.Or(portClash(echo), servicePortClash(echo), missingTLS(echo), hostnameClash(echo)); err != nil {
		return err
	}
	return nil // untyped, because a nil pointer in an interface is not nil
}

// portClash returns an error if the containers cannot listen on the HTTPS port.
func portClash(echo *v1.Echo) *InvalidSpecError {
	if !HasTLS(&echo.Spec) {
		return nil
	}
	switch port := HTTPSPort(echo.Spec.TLS); port {
	case echo.Spec.Port:
		return &InvalidSpecError{Message: fmt.Sprintf("The field spec.tls.port %s, the same port as spec.port", isOrDefaults(echo.Spec.TLS.Port, port)),
			Advice: "Set one of them to another port, because the containers listen on both."}
	case MetricsPort(echo):
		return &InvalidSpecError{
			Message: fmt.Sprintf("The field spec.tls.port %s, which is the metrics port of the echo server", isOrDefaults(echo.Spec.TLS.Port, port)),
			Advice:  "Set spec.tls.port to another port: metrics use port 9090, or 9091 if spec.port is 9090."}
	}
	return nil
}

// servicePortClash returns an error if the Service cannot expose the HTTPS port.
func servicePortClash(echo *v1.Echo) *InvalidSpecError {
	if !HasTLS(&echo.Spec) || HTTPSServicePort(echo.Spec.TLS) != echo.Spec.Service.Port {
		return nil
	}
	return &InvalidSpecError{
		Message: fmt.Sprintf("The field spec.tls.servicePort %s, the same port as spec.service.port",
			isOrDefaults(echo.Spec.TLS.ServicePort, echo.Spec.Service.Port)),
		Advice: "Set one of them to another port, because the Service has both."}
}

// isOrDefaults returns text that states which port a field holds, and whether the port is the default.
func isOrDefaults(field, port int32) string {
	if field == 0 {
		return fmt.Sprintf("is %d by default", port)
	}
	return fmt.Sprintf("is %d", port)
}

// missingTLS returns an error if Gateways must connect over HTTPS, but the echo servers have no certificate.
func missingTLS(echo *v1.Echo) *InvalidSpecError {
	if !HasGateway(echo) || echo.Spec.Gateway.BackendTLS == nil || HasTLS(&echo.Spec) {
		return nil
	}
	return &InvalidSpecError{Message: "The field spec.gateway.backendTLS requires a certificate for the echo servers",
		Advice: "Set spec.tls.secretName, or remove spec.gateway.backendTLS."}
}

// hostnameClash returns an error that names the overlapping host names of the HTTPRoute and the GRPCRoute, or nil if none overlap.
func hostnameClash(echo *v1.Echo) *InvalidSpecError {
	if !HasGateway(echo) || echo.Spec.Gateway.GRPC == nil {
		return nil
	}
	for _, grpc := range echo.Spec.Gateway.GRPC.Hostnames {
		for _, http := range echo.Spec.Gateway.Hostnames {
			if covers(http, grpc) || covers(grpc, http) {
				return &InvalidSpecError{
					Message: fmt.Sprintf("The host name %s in spec.gateway.grpc.hostnames overlaps %s in spec.gateway.hostnames", grpc, http),
					Advice:  "Change one of them: a listener accepts a host name from only one kind of route."}
			}
		}
	}
	return nil
}

// covers reports whether a pattern, such as *.example.com, matches every name that another host name matches.
func covers(pattern, name string) bool {
	domain, wildcard := strings.CutPrefix(pattern, "*.")
	return pattern == name || wildcard && strings.HasSuffix(name, "."+domain)
}
