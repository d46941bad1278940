// Package testbed starts the control planes, clusters and programs that the benchmark measures on, and reads what they use.
package testbed
