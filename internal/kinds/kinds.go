// Package kinds lists the kinds of objects that the operator creates, for programs that read the objects but do not build them.
package kinds

// Kind is a kind of object that the operator creates for Echoes.
type Kind struct {
	Group, Version, Kind, Resource string
	// Named is true if the object has the same name as its Echo.
	Named bool
	// Kept holds the fields that must-gather writes. If Kept is empty, internal/mustgather/kept.yaml lists the fields.
	Kept []string
}
