package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of the folder, which are keys of the Secret.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	authorityFile   = "ca.crt"
)

// tlsFile is the content of a file. The zero value is a file that does not exist.
type tlsFile struct {
	content string
	exists  bool
}

// tlsFiles is comparable, so that a change of any file is seen.
type tlsFiles struct {
	certificate, key, authority tlsFile
}

// tlsPair is what new connections use.
type tlsPair struct {
	config    *tls.Config
	authority *x509.CertPool // of clients
	expiry    time.Time      // of the certificate
}

// read returns the files. It reads until two reads are the same, because a rotation in between would return files of two pairs.
func (s *tlsSettings) read() (files tlsFiles, err error) {
	for range 3 {
		previous := files
		if files, err = s.readOnce(); err != nil || files == previous {
			break
		}
	}
	return files, err
}

func (s *tlsSettings) readOnce() (files tlsFiles, err error) {
	wanted := map[string]*tlsFile{certificateFile: &files.certificate, keyFile: &files.key}
	if s.clientCertificate != clientCertificateNone {
		wanted[authorityFile] = &files.authority
	}
	for name, file := range wanted {
		content, err := os.ReadFile(filepath.Join(s.folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("key %s cannot be read: %w", name, err)
		}
		*file = tlsFile{content: string(content), exists: err == nil}
	}
	return files, nil
}

// pair returns the configuration for the files, or what is wrong with them.
func (s *tlsSettings) pair(files *tlsFiles) (*tlsPair, error) {
	certificate, err := parsePair(files)
	if err != nil {
		return nil, err
	}
	authority, err := s.parseAuthority(files.authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		VerifyConnection: refuseManyNames,
		Certificates:     []tls.Certificate{certificate},
		MinVersion:       s.minVersion,
		CipherSuites:     s.ciphers,
		NextProtos:       []string{"h2", "http/1.1"},
		// A resumed session would not show the certificate of the client again.
		SessionTicketsDisabled: s.clientCertificate != clientCertificateNone,
	}
	config.VerifyPeerCertificate = func(chain [][]byte, _ [][]*x509.Certificate) error {
		if len(chain) > maxPeerCertificates {
			return fmt.Errorf("the client has sent %d certificates, more than %d", len(chain), maxPeerCertificates)
		}
		return nil
	}
	switch s.clientCertificate {
	case clientCertificateRequest: // without ClientCAs: many clients would keep a certificate of another authority to themselves
		config.ClientAuth = tls.RequestClientCert
	case clientCertificateRequire:
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, authority
	}
	return &tlsPair{config: config, authority: authority, expiry: certificate.Leaf.NotAfter}, nil
}

func parsePair(files *tlsFiles) (tls.Certificate, error) {
	for _, each := range []struct {
		name string
		file tlsFile
	}{{certificateFile, files.certificate}, {keyFile, files.key}} {
		if !each.file.exists {
			return tls.Certificate{}, fmt.Errorf("key %s is missing: create the Secret, or remove spec.tls", each.name)
		}
	}
	certificate, err := tls.X509KeyPair([]byte(files.certificate.content), []byte(files.key.content))
	switch {
	case err == nil:
		return certificate, nil
	case strings.Contains(err.Error(), "does not match public key"):
		return certificate, fmt.Errorf("keys %s and %s do not match", certificateFile, keyFile)
	}
	return certificate, fmt.Errorf("keys %s and %s are not a certificate and its private key as PEM: %s", certificateFile, keyFile,
		strings.TrimPrefix(err.Error(), "tls: "))
}

// parseAuthority returns the certificates that verify those of clients. It is never nil, which would mean those of the system.
func (s *tlsSettings) parseAuthority(file tlsFile) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	switch {
	case !file.exists && s.clientCertificate == clientCertificateRequire:
		return nil, fmt.Errorf("key %s is missing: spec.tls.clientCertificate %s needs it", authorityFile, clientCertificateRequire)
	case file.exists && !pool.AppendCertsFromPEM([]byte(file.content)):
		return nil, fmt.Errorf("key %s contains no certificate as PEM", authorityFile)
	}
	return pool, nil
}

// maxNames is the maximum number of names and extensions in the certificates of a client.
const maxNames = 200

// refuseManyNames refuses certificates of clients with very many names, which would take much memory as long as the connection is open.
func refuseManyNames(state tls.ConnectionState) error {
	names := 0
	for _, each := range state.PeerCertificates {
		names += len(each.DNSNames) + len(each.EmailAddresses) + len(each.IPAddresses) + len(each.URIs) + len(each.Subject.Names) +
			len(each.Issuer.Names) + len(each.Extensions)
	}
	if names > maxNames {
		return fmt.Errorf("the certificate of the client has more than %d names and extensions", maxNames)
	}
	return nil
}
