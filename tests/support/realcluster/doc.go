// Package realcluster starts and controls the programs that suites need on a cluster with nodes, and reports on them: kubectl, probers,
// Prometheus and hollow nodes.
package realcluster
