// Package operator assembles the operator: its settings, its startup checks, and its manager with caches and reconcilers.
//
// Both the program and the integration tests use the package.
package operator
