package children

import v1 "github.com/echo-operator/echo-operator/api/v1"

// The names of the ports of a pod and of a Service.
const (
	portName        = "http"
	httpsPortName   = "https"
	metricsPortName = "metrics"
)

const (
	// defaultMetricsPort is the port on which the echo server serves metrics by default.
	defaultMetricsPort = 9090
	// firstUnprivilegedPort is the lowest port on which a process without privileges may listen by default.
	firstUnprivilegedPort = 1024
)

// metricsPort returns the port on which the operator's own echo server serves metrics: 9090, or 9091 if it listens on 9090.
func metricsPort(echo *v1.Echo) int32 {
	if echo.Spec.Port == defaultMetricsPort {
		return defaultMetricsPort + 1
	}
	return defaultMetricsPort
}
