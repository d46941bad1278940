package objects

import (
	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Config holds the cluster-wide settings that affect the children of all Echoes.
type Config struct {
	Images Images
	// TLS holds the cluster's requirements for TLS endpoints. It affects only Echoes with TLS.
	TLS TLSProfile
	// Served holds the optional kinds that the cluster serves.
	Served Served
	// Routes is true if the cluster serves OpenShift Routes.
	Routes bool
}

// TLSProfile holds a cluster's requirements for TLS endpoints.
type TLSProfile struct {
	// MinVersion is the minimum TLS version, VersionTLS12 or VersionTLS13.
	MinVersion string
	// Ciphers contains the IANA names of the TLS 1.2 cipher suites.
	Ciphers []string
}

// Served holds the Gateway API kinds that the cluster serves and the operator may use. It never changes.
type Served map[string]bool

// HasTLS reports whether the echo servers of an Echo serve HTTPS.
func HasTLS(spec *v1.EchoSpec) bool { return spec.TLS != nil && spec.TLS.SecretName != "" }

// HasIngress reports whether an Echo has an Ingress.
func HasIngress(echo *v1.Echo) bool { return echo.Spec.Ingress != nil && echo.Spec.Ingress.Enabled }

// HasGateway reports whether an Echo has Gateway API routes.
func HasGateway(echo *v1.Echo) bool { return echo.Spec.Gateway != nil && echo.Spec.Gateway.Enabled }
