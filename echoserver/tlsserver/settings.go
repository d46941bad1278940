package tlsserver

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// These constants are the values of the tls-client-certificate setting.
const (
	ClientCertificateNone    = "None"    // the server does not request a certificate
	ClientCertificateRequest = "Request" // clients may present any certificate; the response shows whether it can be verified with ca.crt
	ClientCertificateRequire = "Require" // clients must present a certificate that can be verified with ca.crt
)

type Settings struct {
	Address           string // empty means no HTTPS
	Folder            string
	Secret            string // the name of the Secret, used only in messages
	ClientCertificate string
	MinVersion        uint16
	Ciphers           []uint16 // for TLS 1.2; nil means crypto/tls's default
}

// ParseVersion parses the minimum TLS version.
func ParseVersion(text string) (uint16, error) {
	switch text {
	case "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is not VersionTLS12 or VersionTLS13", text)
}

// ParseCiphers parses the names of cipher suites, including insecure ones, because a user who names one has a client that needs it.
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
			return nil, fmt.Errorf("%q is not the IANA name of a cipher suite that this server supports: the secure suites are %s", name,
				strings.Join(recommended, ", "))
		}
		ciphers = append(ciphers, id)
	}
	return ciphers, nil
}
