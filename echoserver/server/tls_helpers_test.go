package server

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
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/connection"
	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// authority issues certificates.
type authority struct {
	leaf *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

// issued is a certificate and its key as PEM.
type issued struct{ certificate, key string }

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{}
	template := certificateTemplate(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage, template.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	der, key := a.sign(t, template)
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.leaf, a.key, a.pem = leaf, key, inPEM("CERTIFICATE", der)
	return a
}

func certificateTemplate(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{{127, 0, 0, 1}}, NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// sign signs a new key. An authority without a certificate signs its own.
func (a *authority) sign(t testing.TB, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.leaf, a.key
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

func (a *authority) issue(t testing.TB, name string) issued {
	t.Helper()
	der, key := a.sign(t, certificateTemplate(name))
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return issued{inPEM("CERTIFICATE", der), inPEM("PRIVATE KEY", keyDER)}
}

func (i issued) pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(i.certificate), []byte(i.key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// secretVolume is a folder that is updated as the kubelet updates the volume of a Secret: all files at once, by a symbolic link.
type secretVolume struct {
	folder  string
	version int
}

func newSecretVolume(t testing.TB, files map[string]string) *secretVolume {
	t.Helper()
	v := &secretVolume{folder: t.TempDir()}
	for _, name := range []string{certificateFile, keyFile, authorityFile} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(v.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	v.update(t, files)
	return v
}

func (v *secretVolume) update(t testing.TB, files map[string]string) {
	t.Helper()
	v.version++
	data := "..version" + string(rune('0'+v.version))
	if err := os.Mkdir(filepath.Join(v.folder, data), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(v.folder, data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(v.folder, "..data_tmp")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link, filepath.Join(v.folder, "..data")); err != nil {
		t.Fatal(err)
	}
}

func keysOf(pair issued, authority string) map[string]string {
	files := map[string]string{certificateFile: pair.certificate, keyFile: pair.key}
	if authority != "" {
		files[authorityFile] = authority
	}
	return files
}

// secured is a server with HTTPS.
type secured struct {
	*handler
	server       *http.Server
	address      string // host and port
	certificates *certificates
	volume       *secretVolume
	authority    *authority // of the server
}

// serveTLS serves a handler as the program does, over real connections with TLS. The certificate is of the name "first".
func serveTLS(t *testing.T, clientAuthority string, environ ...string) *secured {
	t.Helper()
	inner := echotest.ListenLocally(t)
	s := secureWith(t, inner, clientAuthority, environ...)
	s.address = inner.Addr().String()
	return s
}

func secureWith(t *testing.T, inner net.Listener, clientAuthority string, environ ...string) *secured {
	t.Helper()
	s := &secured{authority: newAuthority(t, "authority")}
	s.volume = newSecretVolume(t, keysOf(s.authority.issue(t, "first"), clientAuthority))
	s.handler = handlerOf(t, append(environ, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+s.volume.folder, "ECHO_TLS_SECRET=web-tls")...)
	certificates, err := awaitCertificates(t.Context(), s.tls, &s.metrics.tls, echotest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	s.certificates, s.server = certificates, newServer(s.handler, connection.DefaultHeaderBytes, echotest.Quiet())
	go func() {
		_ = s.server.Serve(connection.NewBoundedListener(newTLSListener(inner, certificates, s.metrics), connection.TLSConnectionCost, boundsOf(s.metrics)))
	}()
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

// config returns the configuration of a client that trusts the server.
func (s *secured) config(certificates ...tls.Certificate) *tls.Config {
	trusted := x509.NewCertPool()
	trusted.AddCert(s.authority.leaf)
	return &tls.Config{RootCAs: trusted, Certificates: certificates}
}

// tlsClients returns a client for each protocol that the server speaks with TLS.
func tlsClients(t *testing.T, config *tls.Config) map[string]*http.Client {
	t.Helper()
	found := map[string]*http.Client{}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		protocols := &http.Protocols{}
		protocols.SetHTTP1(proto == "HTTP/1.1")
		protocols.SetHTTP2(proto == "HTTP/2.0")
		transport := &http.Transport{TLSClientConfig: config.Clone(), Protocols: protocols}
		t.Cleanup(transport.CloseIdleConnections)
		found[proto] = &http.Client{Transport: transport, Timeout: 2 * echotest.Patience}
	}
	return found
}
