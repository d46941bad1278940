// Package realcluster starts, drives and shows what suites need on a cluster with nodes: kubectl, probers, Prometheus, hollow nodes.
package realcluster
