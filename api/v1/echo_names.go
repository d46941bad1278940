package v1

const (
	// Finalizer blocks the deletion of an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is set on companions. Its value is a digest of the applied configuration: a companion with another one is
	// replaced, because pods are immutable.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel is the label of a pod that requests a companion. Its value is the name of an Echo in the same namespace.
	CompanionLabel = "echoes.example.com/companion"
)
