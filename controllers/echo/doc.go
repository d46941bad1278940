// Package echo makes the objects of a cluster match its Echoes.
//
// A reconcile reads what exists (observe.go), has internal/children determine what should exist, applies the differences (converge.go), has
// internal/status determine what that means, and writes the status and then the events (publish.go). An Echo that is being deleted takes
// deletion.go. A reconcile of an Echo that matches sends no request. watches.go says what starts a reconcile.
package echo
