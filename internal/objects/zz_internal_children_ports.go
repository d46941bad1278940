package objects

import (
	"cmp"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// These are the names of a pod's ports, and the default names of a Service's ports.
const (
	PortName        = "http"
	HTTPSPortName   = "https"
	MetricsPortName = "metrics"
)

const (
	// defaultHTTPSPort and defaultHTTPSServicePort are the documented defaults of spec.tls. The schema sets no defaults for these fields,
	// because GitOps tools report a default in an optional object as a difference.
	defaultHTTPSPort, defaultHTTPSServicePort = 8443, 443
	// defaultMetricsPort is the port on which the echo server serves metrics by default.
	defaultMetricsPort = 9090
	// FirstUnprivilegedPort is the lowest port on which an unprivileged process can listen by default.
	FirstUnprivilegedPort = 1024
)

// HTTPSPort returns the port on which an Echo's containers listen for HTTPS.
func HTTPSPort(tls *v1.EchoTLS) int32 { return cmp.Or(tls.Port, defaultHTTPSPort) }

// HTTPSServicePort returns the HTTPS port of an Echo's Service.
func HTTPSServicePort(tls *v1.EchoTLS) int32 { return cmp.Or(tls.ServicePort, defaultHTTPSServicePort) }

// ServicePortName returns the name of the HTTP port of an Echo's Service.
func ServicePortName(echo *v1.Echo) string { return cmp.Or(echo.Spec.Service.PortName, PortName) }

// MetricsPort returns the port on which the operator's own echo server serves metrics: 9090, or 9091 if spec.port is 9090.
func MetricsPort(echo *v1.Echo) int32 {
	if echo.Spec.Port == defaultMetricsPort {
		return defaultMetricsPort + 1
	}
	return defaultMetricsPort
}
