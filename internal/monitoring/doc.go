// Package monitoring defines the metrics and alerts of the operator.
//
// Each metric answers a question of a person on call. The table in docs/reference/metrics.md lists them.
package monitoring
