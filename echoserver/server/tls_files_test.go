package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTLSFiles checks what is told about files that cannot be used.
func TestTLSFiles(t *testing.T) {
	a := newAuthority(t, "a")
	first, second := a.issue(t, "first"), a.issue(t, "second")
	const noPair = "keys tls.crt and tls.key are not a certificate and its private key as PEM: "
	for name, c := range map[string]struct {
		files  map[string]string
		client string
		want   string // "" for none
	}{
		"a pair":                             {keysOf(first, ""), clientCertificateNone, ""},
		"a pair with its authority":          {keysOf(issued{first.certificate + a.pem, first.key}, a.pem), clientCertificateRequire, ""},
		"none":                               {nil, clientCertificateNone, "key tls.crt is missing: create the Secret, or remove spec.tls"},
		"no key":                             {map[string]string{certificateFile: first.certificate}, clientCertificateNone, "key tls.key is missing: create the Secret, or remove spec.tls"},
		"an empty certificate":               {keysOf(issued{"", first.key}, ""), clientCertificateNone, noPair + "failed to find any PEM data in certificate input"},
		"a certificate that is not PEM":      {keysOf(issued{"x", first.key}, ""), clientCertificateNone, noPair + "failed to find any PEM data in certificate input"},
		"a key that is not PEM":              {keysOf(issued{first.certificate, "x"}, ""), clientCertificateNone, noPair + "failed to find any PEM data in key input"},
		"the key of another":                 {keysOf(issued{first.certificate, second.key}, ""), clientCertificateNone, "keys tls.crt and tls.key do not match"},
		"Require without an authority":       {keysOf(first, ""), clientCertificateRequire, "key ca.crt is missing: spec.tls.clientCertificate Require needs it"},
		"Request without an authority":       {keysOf(first, ""), clientCertificateRequest, ""},
		"Request with a bad authority":       {keysOf(first, "x"), clientCertificateRequest, "key ca.crt contains no certificate as PEM"},
		"a bad authority that nobody reads":  {keysOf(first, "x"), clientCertificateNone, ""},
		"an authority with nothing to serve": {map[string]string{authorityFile: a.pem}, clientCertificateRequire, "key tls.crt is missing: create the Secret, or remove spec.tls"},
	} {
		s := tlsSettings{folder: newSecretVolume(t, c.files).folder, clientCertificate: c.client, minVersion: tls.VersionTLS12}
		files, err := s.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if pair, err := s.pair(&files); c.want == "" && (err != nil || pair.config == nil || pair.authority == nil) || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestTLSFilesUnreadable has a folder in the place of a file.
func TestTLSFilesUnreadable(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, keyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	s := tlsSettings{folder: folder, clientCertificate: clientCertificateNone}
	if _, err := s.read(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "key tls.key cannot be read: ") {
		t.Errorf("got %v", err)
	}
}

func TestCertificatesWithManyNamesAreRefused(t *testing.T) {
	for names, ok := range map[int]bool{0: true, maxNames: true, maxNames + 1: false} {
		state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: make([]string, names/2)}, {URIs: make([]*url.URL, names-names/2)}}}
		if err := refuseManyNames(state); (err == nil) != ok {
			t.Errorf("%d names: %v", names, err)
		}
	}
}
