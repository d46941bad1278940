package server

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// The values of the setting tls-client-certificate.
const (
	clientCertificateNone    = "None"
	clientCertificateRequest = "Request" // any certificate is shown; the answer tells whether the authority verifies it
	clientCertificateRequire = "Require" // the authority must verify it
)

// tlsSettings contains the settings of HTTPS.
type tlsSettings struct {
	address           string // empty: no HTTPS
	folder            string
	secret            string // only for messages
	clientCertificate string
	minVersion        uint16
	ciphers           []uint16 // of TLS 1.2; nil: the default of crypto/tls
}

func (s *tlsSettings) options() []option {
	return []option{
		{"tls-addr", "", "the address to serve HTTP/1.1 and HTTP/2 with TLS on; empty serves none", optional(&s.address, parseAddress)},
		{"tls-dir", "/etc/echo-server/tls", "the folder of tls.crt, tls.key and ca.crt", parsedInto(&s.folder, asIs)},
		{"tls-secret", "", "the name of the Secret that tls-dir is a volume of, for messages", parsedInto(&s.secret, asIs)},
		{"tls-client-certificate", clientCertificateNone, "whether clients have a certificate: None, Request or Require",
			parsedInto(&s.clientCertificate, oneOf("is not None, Request or Require",
				clientCertificateNone, clientCertificateRequest, clientCertificateRequire))},
		{"tls-min-version", "VersionTLS12", "the lowest version of TLS: VersionTLS12 or VersionTLS13", parsedInto(&s.minVersion, parseTLSVersion)},
		{"tls-ciphers", "", "the cipher suites of TLS 1.2 by their IANA names, separated by commas; those of TLS 1.3 are fixed",
			optional(&s.ciphers, parseCiphers)},
	}
}

func parseTLSVersion(text string) (uint16, error) {
	switch text {
	case "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("%q is not VersionTLS12 or VersionTLS13", text)
}

// parseCiphers accepts insecure cipher suites too: who names one has a client that needs it.
func parseCiphers(text string) ([]uint16, error) {
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
