// Package kinds lists the kinds that the operator creates, for programs that read its objects but do not build them.
package kinds

// Kind is a kind of object that the operator creates for Echoes.
type Kind struct {
	Group, Version, Kind, Resource string
	// Named is true if the object has the same name as its Echo.
	Named bool
	// Kept are the fields that must-gather writes. If there are none, internal/mustgather/kept.yaml lists them.
	Kept []string
}
