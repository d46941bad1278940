package children

// Config holds the cluster-wide settings that affect the children of all Echoes.
type Config struct {
	Images Images
	// TLS holds the cluster's requirements for TLS endpoints. It affects only Echoes with TLS.
	TLS TLSProfile
	// Served holds the optional kinds that the cluster serves.
	Served Served
	// Routes is true if the cluster serves OpenShift Routes.
	Routes bool
}

// TLSProfile holds a cluster's requirements for TLS endpoints.
type TLSProfile struct {
	// MinVersion is the minimum TLS version, VersionTLS12 or VersionTLS13.
	MinVersion string
	// Ciphers contains the IANA names of the TLS 1.2 cipher suites.
	Ciphers []string
}

// Served holds the Gateway API kinds that the cluster serves and the operator may use. It never changes.
type Served map[string]bool
