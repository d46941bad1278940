package v1

const (
	// Finalizer blocks the deletion of an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is set on companions and on the pods of checks. Its value is a digest of the applied configuration: a companion with
	// another one is replaced, because pods are immutable, and the result of another check does not count.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel is the label of a pod that requests a companion. Its value is the name of an Echo in the same namespace.
	CompanionLabel = "echoes.example.com/companion"

	// CheckLabel is the label of the pods of a check. Its value is the name of the check.
	CheckLabel = "echoes.example.com/check"
)
