package server

import (
	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
)

// tlsOptions returns the settings of HTTPS; they are parsed into s.
func tlsOptions(s *tlsserver.Settings) []option {
	return []option{
		{"tls-addr", "", "the address to serve HTTP/1.1 and HTTP/2 with TLS on; empty serves none", optional(&s.Address, parseAddress)},
		{"tls-dir", "/etc/echo-server/tls", "the folder of tls.crt, tls.key and ca.crt", controls.Into(&s.Folder, asIs)},
		{"tls-secret", "", "the name of the Secret that tls-dir is a volume of, for messages", controls.Into(&s.Secret, asIs)},
		{"tls-client-certificate", tlsserver.ClientCertificateNone, "whether clients have a certificate: None, Request or Require",
			controls.Into(&s.ClientCertificate, controls.OneOf("is not None, Request or Require",
				tlsserver.ClientCertificateNone, tlsserver.ClientCertificateRequest, tlsserver.ClientCertificateRequire))},
		{"tls-min-version", "VersionTLS12", "the lowest version of TLS: VersionTLS12 or VersionTLS13", controls.Into(&s.MinVersion, tlsserver.ParseVersion)},
		{"tls-ciphers", "", "the cipher suites of TLS 1.2 by their IANA names, separated by commas; those of TLS 1.3 are fixed",
			optional(&s.Ciphers, tlsserver.ParseCiphers)},
	}
}
