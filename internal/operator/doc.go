// Package operator assembles the operator: its settings, what it checks before it starts, and its manager with caches and reconcilers. The
// program and the test suites use it alike.
package operator
