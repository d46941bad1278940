package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/certificates"
)

// These constants are the values of the tls-client-certificate setting.
const (
	ClientCertificateNone    = "None"    // the server does not request a certificate
	ClientCertificateRequest = "Request" // clients may present any certificate; the response shows whether it can be verified with ca.crt
	ClientCertificateRequire = "Require" // clients must present a certificate that can be verified with ca.crt
)

// TLSSettings are the settings of the HTTPS port.
type TLSSettings struct {
	Address           string // empty means no HTTPS
	Folder            string
	Secret            string // the name of the Secret, used only in messages
	ClientCertificate string
	MinVersion        uint16
	Ciphers           []uint16 // for TLS 1.2; nil means crypto/tls's default
}

// ParseCiphers parses the names of cipher suites, including insecure ones, because a user who names one has a client that needs it.
func ParseCiphers(text string) ([]uint16, error) {
	known := map[string]uint16{}
	var recommended []string
	for _, suite := range append(tls.InsecureCipherSuites(), tls.CipherSuites()...) {
		if known[suite.Name] = suite.ID; !suite.Insecure {
			recommended = append(recommended, suite.Name)
		}
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

// These constants are the names of the files in the directory, which are keys in the Secret.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
)

// certificatePair holds the TLS configuration for new connections.
type certificatePair struct {
	config    *tls.Config
	authority *x509.CertPool // verifies clients
	expiry    time.Time      // when the certificate expires
}

// read returns the content of the files that exist, by name. It reads the files until two consecutive reads return the same content, because a read during a
// rotation could mix files from two pairs.
func (s *TLSSettings) read() (files map[string]string, err error) {
	names := []string{certificateFile, keyFile}
	if s.ClientCertificate != ClientCertificateNone {
		names = append(names, authorityFile)
	}
	for range 3 {
		previous := files
		files = map[string]string{}
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(s.Folder, name))
			switch {
			case err == nil:
				files[name] = string(content)
			case !errors.Is(err, fs.ErrNotExist):
				return files, fmt.Errorf("key %s cannot be read: %w", name, err)
			}
		}
		if maps.Equal(files, previous) {
			break
		}
	}
	return files, nil
}

// pair returns the configuration for the files, or an error that describes why they cannot be used.
func (s *TLSSettings) pair(files map[string]string) (*certificatePair, error) {
	for _, name := range []string{certificateFile, keyFile} {
		if _, exists := files[name]; !exists {
			return nil, fmt.Errorf("key %s is missing", name)
		}
	}
	certificate, err := certificates.Pair([]byte(files[certificateFile]), []byte(files[keyFile]))
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool() // not nil, because a nil pool would stand for the system's CA certificates
	content, exists := files[authorityFile]
	switch {
	case exists:
		if authority, err = certificates.Pool([]byte(content)); err != nil {
			return nil, fmt.Errorf("key %s: %w", authorityFile, err)
		}
	case s.ClientCertificate == ClientCertificateRequire:
		return nil, fmt.Errorf("key %s is missing: spec.tls.clientCertificate %s needs it", authorityFile, ClientCertificateRequire)
	}
	config := &tls.Config{
		VerifyConnection: rejectLarge,
		Certificates:     []tls.Certificate{certificate},
		MinVersion:       s.MinVersion,
		CipherSuites:     s.Ciphers,
		NextProtos:       []string{"h2", "http/1.1"},
		// In a resumed session, the client would not present its certificate again.
		SessionTicketsDisabled: s.ClientCertificate != ClientCertificateNone,
	}
	switch s.ClientCertificate {
	case ClientCertificateRequest: // no ClientCAs, because many clients would withhold certificates from other authorities
		config.ClientAuth = tls.RequestClientCert
	case ClientCertificateRequire:
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authority
	}
	return &certificatePair{config: config, authority: authority, expiry: certificate.Leaf.NotAfter}, nil
}

// maxNames is the maximum total number of names and extensions in a client's certificates.
const maxNames = 200

// rejectLarge rejects too many client certificates, and certificates with too many names and extensions, which would use a lot of memory
// while the connection is open.
func rejectLarge(state tls.ConnectionState) error {
	if sent := len(state.PeerCertificates); sent > maxPeerCertificates {
		return fmt.Errorf("the client sent %d certificates, but at most %d are allowed", sent, maxPeerCertificates)
	}
	names := 0
	for _, each := range state.PeerCertificates {
		names += len(each.DNSNames) + len(each.EmailAddresses) + len(each.IPAddresses) + len(each.URIs) + len(each.Subject.Names) +
			len(each.Issuer.Names) + len(each.Extensions)
	}
	if names > maxNames {
		return fmt.Errorf("the client's certificates have more than %d names and extensions", maxNames)
	}
	return nil
}
