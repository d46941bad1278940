// Package discovery determines which optional APIs a cluster serves, and when to restart because of them.
//
// It asks the cluster once a minute while an Echo requires an API that was not served at the start, or when a kind is no longer served. The
// operator ends when several responses in a row show the same change, and two replicas never end together. The package adds objects of
// optional APIs, such as a ServiceMonitor, once.
package discovery
