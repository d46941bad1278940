package v1

const (
	// Finalizer blocks the deletion of an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is set on every object that the operator creates for an Echo. Its value is a digest of the applied
	// configuration, which shows that a field was removed from it.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel is the label of a pod that requests a companion. Its value is the name of an Echo in the same namespace.
	CompanionLabel = "echoes.example.com/companion"
)
