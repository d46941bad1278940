// Package tracing records spans of reconciles and of their requests to the API server.
//
// OpenTelemetry's exporter sends them to a collector. Without the address of a collector, the package does nothing.
package tracing
