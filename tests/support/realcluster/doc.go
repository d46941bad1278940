// Package realcluster starts, controls and reports on what suites need on a cluster with nodes: kubectl, probers, Prometheus, hollow nodes.
package realcluster
