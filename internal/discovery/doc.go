// Package discovery determines which optional APIs a cluster serves, and when to restart because of them.
//
// It queries the cluster once a minute while an Echo requires an API that was not served at the start, or when a kind is no longer served.
// The operator exits when several responses in a row show the same change. Two replicas never exit together. The package also adds objects
// of optional APIs, such as a ServiceMonitor, once.
package discovery
