package v1

const (
	// Finalizer blocks the deletion of an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is set on companions and check pods. Its value is a hash of the applied configuration. A companion with an
	// outdated hash is replaced, because pods are immutable. The result of a check pod with an outdated hash is ignored.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel is the label of a pod that requests a companion. Its value is the name of an Echo in the same namespace.
	CompanionLabel = "echoes.example.com/companion"

	// CheckLabel is the label of check pods. Its value is the name of the check.
	CheckLabel = "echoes.example.com/check"
)
