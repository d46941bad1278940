package tlsserver

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// The values of the setting tls-client-certificate.
const (
	ClientCertificateNone    = "None"    // clients are not asked for one
	ClientCertificateRequest = "Request" // any certificate is shown; the response shows whether the authority verifies it
	ClientCertificateRequire = "Require" // the authority must verify it
)

// Settings contains the settings of HTTPS.
type Settings struct {
	Address           string // empty: no HTTPS
	Folder            string
	Secret            string // only for messages
	ClientCertificate string
	MinVersion        uint16
	Ciphers           []uint16 // of TLS 1.2; nil: the default of crypto/tls
}

// ParseVersion parses the lowest version.
func ParseVersion(text string) (uint16, error) {
	switch text {
	case "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is not VersionTLS12 or VersionTLS13", text)
}

// ParseCiphers accepts insecure cipher suites too: who names one has a client that needs it.
func ParseCiphers(text string) ([]uint16, error) {
	known := map[string]uint16{}
	var recommended []string
	for _, suite := range tls.InsecureCipherSuites() {
		known[suite.Name] = suite.ID
	}
	for _, suite := range tls.CipherSuites() {
		known[suite.Name] = suite.ID
		recommended = append(recommended, suite.Name)
	}
	var ciphers []uint16
	for name := range strings.SplitSeq(text, ",") {
		id, ok := known[strings.TrimSpace(name)]
		if !ok {
			return nil, fmt.Errorf("%q is not the IANA name of a cipher suite that this server has: the secure ones are %s", name,
				strings.Join(recommended, ", "))
		}
		ciphers = append(ciphers, id)
	}
	return ciphers, nil
}
