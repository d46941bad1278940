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
	Kind, Name string
	// For is the kind of the expected owner: "Echo" or "pod".
	For string
	// Advice is a sentence that says what to do.
	Advice string
}

// Text returns a description of the conflict, without the advice.
func (e *NameConflictError) Text() string {
	return fmt.Sprintf("The %s %s already exists, was not created for this %s, and is not changed", e.Kind, e.Name, e.For)
}

// Error implements error.
func (e *NameConflictError) Error() string { return e.Text() + ". " + e.Advice }

// RequestError reports a failed request for a child.
type RequestError struct {
	Action Action
	Kind   string
	Key    client.ObjectKey
	Err    error
}

// Action is a past participle that describes what a request does to an object.
type Action string

// These are the actions of requests.
const (
	Applying   Action = "applied"
	Creating   Action = "created"
	Reading    Action = "read"
	Replacing  Action = "replaced"
	Deleting   Action = "deleted"
	TakingOver Action = "taken over"
)

// Error implements error.
func (e *RequestError) Error() string {
	return fmt.Sprintf("%s %s cannot be %s: %v", e.Kind, e.Key, e.Action, e.Err)
}

// Unwrap returns the underlying error.
func (e *RequestError) Unwrap() error { return e.Err }
