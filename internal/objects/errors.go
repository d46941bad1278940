package objects

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InvalidSpecError reports a spec that the schema accepts but the operator rejects.
type InvalidSpecError struct {
	// Message says what is wrong, Quote repeats what another component reported, and Advice says what to do.
	Message, Quote, Advice string
}

// Error implements error.
func (e *InvalidSpecError) Error() string {
	text := e.Message
	if e.Quote != "" {
		text += ": " + e.Quote
	}
	if e.Advice != "" {
		text += ". " + e.Advice
	}
	return text
}

// NameConflictError reports an object that has the name of a child or a companion, but was not created as one.
type NameConflictError struct {
	// For is the kind of the expected owner, "Echo" or "pod", and Advice is a sentence that says what to do.
	Kind, Name, For, Advice string
}

// Text returns a description of the conflict, without the advice.
func (e *NameConflictError) Text() string {
	return fmt.Sprintf("The %s %s already exists, was not created for this %s, and is not changed", e.Kind, e.Name, e.For)
}

// Error implements error.
func (e *NameConflictError) Error() string { return e.Text() + ". " + e.Advice }

// RequestError reports a failed request for a child.
type RequestError struct {
	// Action is a past participle that describes what the request does to the object, such as "applied".
	Action, Kind string
	Key          client.ObjectKey
	Err          error
}

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("%s %s cannot be %s: %v", e.Kind, e.Key, e.Action, e.Err)
}

// Unwrap returns the underlying error.
func (e *RequestError) Unwrap() error { return e.Err }
