// Package realcluster controls the programs that suites use on a cluster with nodes: kubectl, probers, Prometheus, and hollow nodes.
package realcluster
