// Package controllers talks to the API server: its reconcilers make the objects of a cluster match its Echoes.
//
// A pass over an Echo reads what exists (observe.go), has internal/children decide what should exist, applies the differences
// (converge.go), has internal/status decide what that means, and writes the status and then the events (publish.go). A pass
// over an Echo that is being deleted is in deletion.go. A pass may be interrupted anywhere and repeated; one over an Echo that is as
// wanted sends no request. echo_watches.go says what starts a pass.
//
// A pod that asks for a companion has passes of its own: companion_controller.go, started by companion_watches.go.
package controllers
