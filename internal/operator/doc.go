// Package operator assembles the operator: its settings, the checks at its start, and its manager with caches and reconcilers.
//
// Both the program and the integration tests use the package.
package operator
