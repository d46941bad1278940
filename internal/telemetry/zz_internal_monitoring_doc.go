// Package monitoring defines the operator's metrics and alerts.
//
// Each metric answers a question that an on-call engineer asks. The table in docs/reference/metrics.md lists the metrics.
package telemetry
