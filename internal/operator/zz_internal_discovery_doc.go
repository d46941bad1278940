// Package discovery determines which optional APIs a cluster serves, and when the operator must restart because they have changed.
//
// The package queries the cluster once a minute if an Echo requires an API that was not served when the operator started, or if a kind has
// disappeared. The operator exits when two consecutive responses show the same change, but not within ten minutes of its start. Two replicas
// never exit at the same time. When a replica becomes the leader, the package also adds objects of optional APIs, such as a ServiceMonitor.
package operator
