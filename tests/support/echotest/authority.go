package echotest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Authority issues certificates.
type Authority struct {
	Leaf *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string
}

// Issued is a certificate and its key in PEM format.
type Issued struct{ Certificate, Key string }

// NewAuthority returns an authority with a self-signed certificate.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	leaf, key := SelfSigned(t, name, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	return &Authority{Leaf: leaf, key: key, PEM: inPEM("CERTIFICATE", leaf.Raw)}
}

// certificateTemplate returns a template for a certificate that is valid for a name and for 127.0.0.1.
func certificateTemplate(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{{127, 0, 0, 1}}, NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// sign creates a key, and signs a certificate for it. If the authority has no certificate yet, the certificate is self-signed.
func (a *Authority) sign(t testing.TB, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.Leaf, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

func inPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// Issue returns a certificate for a name.
func (a *Authority) Issue(t testing.TB, name string) Issued {
	t.Helper()
	der, key := a.sign(t, certificateTemplate(name))
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Issued{inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", keyDER)}
}

// Pair returns the certificate and key for crypto/tls.
func (i Issued) Pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(i.Certificate), []byte(i.Key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// ClientConfig returns a configuration for a client that trusts the authority's certificates for the name "first".
func (a *Authority) ClientConfig(certificates ...tls.Certificate) *tls.Config {
	trusted := x509.NewCertPool()
	trusted.AddCert(a.Leaf)
	return &tls.Config{RootCAs: trusted, ServerName: "first", Certificates: certificates}
}

// SecretVolume is a directory that is updated like a Secret volume: replacing a symbolic link replaces all files at once.
type SecretVolume struct {
	Folder  string
	version int
}

// NewSecretVolume returns a volume with the given files.
func NewSecretVolume(t testing.TB, files map[string]string) *SecretVolume {
	t.Helper()
	v := &SecretVolume{Folder: t.TempDir()}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.Folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	v.Update(t, files)
	return v
}

// Update replaces all files.
func (v *SecretVolume) Update(t testing.TB, files map[string]string) {
	t.Helper()
	v.version++
	data := "..version" + strconv.Itoa(v.version)
	if err := os.Mkdir(filepath.Join(v.Folder, data), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(v.Folder, data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(v.Folder, "..data_tmp")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(v.Folder, "..data")); err != nil {
		t.Fatal(err)
	}
}

// SecretKeys returns the keys and values of a TLS Secret. If authority is empty, the Secret has no ca.crt.
func SecretKeys(pair Issued, authority string) map[string]string {
	files := map[string]string{"tls.crt": pair.Certificate, "tls.key": pair.Key}
	if authority != "" {
		files["ca.crt"] = authority
	}
	return files
}

// SelfSigned returns a certificate for a name, with its key.
func SelfSigned(t testing.TB, name string, until time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	template := certificateTemplate(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage, template.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	template.NotAfter, template.IPAddresses = until, nil
	der, key := (&Authority{}).sign(t, template)
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf, key
}
