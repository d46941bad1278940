package children

// Config is what the children of all Echoes depend on.
type Config struct {
	Images Images
	// TLS is what the cluster requires of endpoints with TLS. It matters only to Echoes with TLS.
	TLS TLSProfile
}
