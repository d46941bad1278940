// Package testbed starts the control planes, clusters, and programs that the benchmark measures, and reads their resource usage.
package testbed
