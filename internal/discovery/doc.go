// Package discovery finds out what a cluster serves beyond Kubernetes, and when the operator has to start again to use that.
package discovery
