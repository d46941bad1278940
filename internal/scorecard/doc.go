// Package scorecard has the scorecard tests of the Echo Operator: of its bundle, and of the operator that runs in the cluster.
package scorecard
