package children

import (
	"maps"
	"slices"
)

// Config holds what the children of all Echoes depend on.
type Config struct {
	Images Images
	// TLS holds what the cluster requires of TLS endpoints. It matters only to Echoes with TLS.
	TLS TLSProfile
	// Served are the optional kinds that the cluster serves.
	Served Served
	// Routes is true if the cluster serves OpenShift Routes.
	Routes bool
}

// Equal reports whether two configurations lead to the same children.
func (c Config) Equal(other Config) bool {
	return c.Images == other.Images && c.Routes == other.Routes && c.Served.Equal(other.Served) &&
		c.TLS.MinVersion == other.TLS.MinVersion && slices.Equal(c.TLS.Ciphers, other.TLS.Ciphers)
}

// TLSProfile holds what a cluster requires of TLS endpoints. It is empty if the cluster requires nothing.
type TLSProfile struct {
	// MinVersion is VersionTLS12 or VersionTLS13.
	MinVersion string
	// Ciphers are the IANA names of TLS 1.2 ciphers.
	Ciphers []string
}

// Served holds the Gateway API kinds that the cluster serves and the operator may use. It never changes.
type Served map[string]bool

// Equal reports whether both include the same kinds.
func (s Served) Equal(other Served) bool { return maps.Equal(s, other) }
