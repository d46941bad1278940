package children

import v1 "github.com/echo-operator/echo-operator/api/v1"

// The names of the ports of a pod and of a Service.
const (
	PortName        = "http"
	HTTPSPortName   = "https"
	MetricsPortName = "metrics"
)

const (
	// defaultMetricsPort is the port on which the echo server serves metrics by default.
	defaultMetricsPort = 9090
	// FirstUnprivilegedPort is the lowest port on which a process without privileges may listen by default.
	FirstUnprivilegedPort = 1024
)

// MetricsPort returns the port on which the operator's own echo server serves metrics: 9090, or 9091 if it listens on 9090.
func MetricsPort(echo *v1.Echo) int32 {
	if echo.Spec.Port == defaultMetricsPort {
		return defaultMetricsPort + 1
	}
	return defaultMetricsPort
}
