package v1

const (
	// Finalizer keeps an Echo until its last pod is gone.
	Finalizer = "echoes.example.com/finalizer"

	// AppliedHashAnnotation is on every object made for an Echo: a digest of what was applied, by which a
	// field that is no longer wanted is noticed.
	AppliedHashAnnotation = "echoes.example.com/applied-hash"

	// CompanionLabel on a pod names the Echo of whose kind the pod gets a companion.
	CompanionLabel = "echoes.example.com/companion"
)
