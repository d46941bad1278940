package children

import "fmt"

// InvalidSpecError is a spec that the schema accepts and the operator refuses.
type InvalidSpecError struct{ Message string }

// Error implements error.
func (e *InvalidSpecError) Error() string { return e.Message }

// NameConflictError is an object that has the name of a child or a companion, but was not created as one.
type NameConflictError struct {
	Kind, Name string
	// For is what the object should have been created for: "Echo" or "pod".
	For string
	// Advice is a sentence that says what to do.
	Advice string
}

// Error implements error.
func (e *NameConflictError) Error() string {
	return fmt.Sprintf("%s %q already exists and was not created for this %s. It is not changed. %s", e.Kind, e.Name, e.For, e.Advice)
}
