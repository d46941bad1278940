// Package tracing sends spans of the passes, and of their requests to the API server, to a collector of OpenTelemetry. Without the address of one
// it does nothing.
//
// The exporter is the package's own: that of OpenTelemetry links gRPC, which would make the program a third larger.
package tracing
