// Package platform uses what a cluster offers beyond Kubernetes, where it is served.
package platform
