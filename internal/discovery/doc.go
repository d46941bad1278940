// Package discovery finds out which optional APIs a cluster serves, and when to restart for them.
//
// The cluster is asked once a minute while an Echo requires an API that was not served at the start, or a kind is no longer served. The
// operator ends when several responses in a row show the same change, and two replicas never end together. Objects of optional APIs, such
// as a ServiceMonitor, are added once.
package discovery
