package transport

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

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestSettings_pair checks the errors for files that cannot be used.
func TestSettings_pair(t *testing.T) {
	a := echotest.NewAuthority(t, "a")
	first, second := a.Issue(t, "first"), a.Issue(t, "second")
	const noPair = "keys tls.crt and tls.key are not a PEM certificate and its private key: "
	for name, c := range map[string]struct {
		files  map[string]string
		client string
		want   string // the expected error, or "" for none
	}{
		"a pair": {echotest.SecretKeys(first, ""), ClientCertificateNone, ""},
		"a pair with its authority": {
			echotest.SecretKeys(echotest.Issued{Certificate: first.Certificate + a.PEM, Key: first.Key}, a.PEM), ClientCertificateRequire, ""},
		"none": {nil, ClientCertificateNone, "key tls.crt is missing"},
		"no key": {map[string]string{certificateFile: first.Certificate}, ClientCertificateNone,
			"key tls.key is missing"},
		"an empty certificate": {echotest.SecretKeys(echotest.Issued{Certificate: "", Key: first.Key}, ""), ClientCertificateNone,
			noPair + "failed to find any PEM data in certificate input"},
		"a certificate that is not PEM": {echotest.SecretKeys(echotest.Issued{Certificate: "x", Key: first.Key}, ""), ClientCertificateNone,
			noPair + "failed to find any PEM data in certificate input"},
		"a key that is not PEM": {echotest.SecretKeys(echotest.Issued{Certificate: first.Certificate, Key: "x"}, ""),
			ClientCertificateNone, noPair + "failed to find any PEM data in key input"},
		"the key of another": {echotest.SecretKeys(echotest.Issued{Certificate: first.Certificate, Key: second.Key}, ""),
			ClientCertificateNone, "keys tls.crt and tls.key do not match"},
		"Require without an authority": {echotest.SecretKeys(first, ""), ClientCertificateRequire,
			"key ca.crt is missing: spec.tls.clientCertificate Require needs it"},
		"Request without an authority": {echotest.SecretKeys(first, ""), ClientCertificateRequest, ""},
		"Request with a bad authority": {echotest.SecretKeys(first, "x"), ClientCertificateRequest,
			"key ca.crt: it contains no PEM certificate"},
		"Require with an empty authority": {map[string]string{certificateFile: first.Certificate, keyFile: first.Key, authorityFile: ""},
			ClientCertificateRequire, "key ca.crt: it contains no PEM certificate"},
		"Require with a half of an authority": {echotest.SecretKeys(first, a.PEM+a.PEM[:200]), ClientCertificateRequire,
			"key ca.crt: 1 of its 2 blocks are not PEM: each -----BEGIN and -----END line must be complete and not indented"},
		"the authority first": {echotest.SecretKeys(echotest.Issued{Certificate: a.PEM + first.Certificate, Key: first.Key}, ""),
			ClientCertificateNone,
			"key tls.crt: the certificate for the private key is number 2, but must be the first: put it before its authorities"},
		"a bad authority that no one reads": {echotest.SecretKeys(first, "x"), ClientCertificateNone, ""},
		"an authority with nothing to serve": {map[string]string{authorityFile: a.PEM}, ClientCertificateRequire,
			"key tls.crt is missing"},
	} {
		s := TLSSettings{Folder: echotest.NewSecretVolume(t, c.files).Folder, ClientCertificate: c.client, MinVersion: tls.VersionTLS12}
		files, err := s.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if pair, err := s.pair(&files); c.want == "" && (err != nil || pair.config == nil || pair.authority == nil) ||
			c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestSettings_unreadableFiles replaces a file with a directory.
func TestSettings_unreadableFiles(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, keyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	s := TLSSettings{Folder: folder, ClientCertificate: ClientCertificateNone}
	if _, err := s.read(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "key tls.key cannot be read: ") {
		t.Errorf("got %v", err)
	}
}

func TestRejectManyNames(t *testing.T) {
	for names, ok := range map[int]bool{0: true, maxNames: true, maxNames + 1: false} {
		state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: make([]string, names/2)},
			{URIs: make([]*url.URL, names-names/2)}}}
		if err := rejectManyNames(state); (err == nil) != ok {
			t.Errorf("%d names: %v", names, err)
		}
	}
}
