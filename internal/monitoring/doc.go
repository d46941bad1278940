// Package monitoring defines the metrics and alerts of the operator.
//
// Each metric answers a question that a person on call asks. The table in docs/reference/metrics.md lists the metrics.
package monitoring
