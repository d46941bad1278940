// Package monitoring has what the operator tells Prometheus. Each metric answers a question of a person on call; docs/metrics.md has them all.
package monitoring
