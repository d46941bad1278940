// Package operator assembles the operator: its settings, the checks at its start, and its manager with caches and reconcilers.
//
// The program and the integration tests use it alike.
package operator
