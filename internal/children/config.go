package children

import (
	"maps"
	"slices"
)

// Config is what the children of all Echoes depend on.
type Config struct {
	Images Images
	// TLS is what the cluster requires of endpoints with TLS. It matters only to Echoes with TLS.
	TLS TLSProfile
	// Served are the optional kinds that the cluster serves.
	Served Served
	// Routes is true if the cluster serves Routes of OpenShift.
	Routes bool
}

// Equal reports whether the same children follow from both.
func (c Config) Equal(other Config) bool {
	return c.Images == other.Images && c.Routes == other.Routes && c.Served.Equal(other.Served) &&
		c.TLS.MinVersion == other.TLS.MinVersion && slices.Equal(c.TLS.Ciphers, other.TLS.Ciphers)
}

// TLSProfile is what a cluster requires of endpoints with TLS. It is empty if the cluster requires nothing.
type TLSProfile struct {
	// MinVersion is VersionTLS12 or VersionTLS13.
	MinVersion string
	// Ciphers are the names of the ciphers of TLS 1.2 at IANA.
	Ciphers []string
}

// Served are the kinds of Gateway API that the cluster serves and the operator may use. It is not changed once it is made.
type Served map[string]bool

// Equal reports whether both are the same.
func (s Served) Equal(other Served) bool { return maps.Equal(s, other) }
