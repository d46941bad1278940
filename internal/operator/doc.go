// Package operator assembles the operator: its settings (options.go), what it checks before it starts (start_checks.go), what it keeps
// in memory (cache.go, companion_cache.go) and its manager (manager.go). The program and the test suites use it alike.
package operator
