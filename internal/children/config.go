package children

import "slices"

// Config is what the children of all Echoes depend on.
type Config struct {
	Images Images
	// TLS is what the cluster requires of endpoints with TLS. It matters only to Echoes with TLS.
	TLS TLSProfile
	// Served are the optional kinds that the cluster serves.
	Served Served
}

// Equal reports whether the same children follow from both.
func (c Config) Equal(other Config) bool {
	return c.Images == other.Images && c.Served.Equal(other.Served) && c.TLS.MinVersion == other.TLS.MinVersion && slices.Equal(c.TLS.Ciphers, other.TLS.Ciphers)
}
