// Package tracing records spans of reconciles and of their requests to the API server.
//
// OpenTelemetry's exporter sends the spans to a collector. If no collector is configured, the package does nothing.
package tracing
