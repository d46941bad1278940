package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/transport"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestCertificates_rotatesUnderLoad sends requests on new and persistent connections while the certificate is rotated.
func TestCertificates_rotatesUnderLoad(t *testing.T) {
	s := serveTLS(t, "")
	second := s.authority.Issue(t, "second")
	var mutex sync.Mutex
	seen := map[string]int{}
	count := func(name string) int {
		mutex.Lock()
		defer mutex.Unlock()
		return seen[name]
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, client := range append(tlsClientList(t, s.config(), false), tlsClientList(t, s.config(), true)...) {
		all.Go(func() {
			for ctx.Err() == nil {
				got := echotest.Send(t, client, http.MethodGet, "https://"+s.address+"/", "")
				mutex.Lock()
				seen[got.TLS.PeerCertificates[0].Subject.CommonName]++
				mutex.Unlock()
				if got.StatusCode != http.StatusOK {
					t.Errorf("a response has the status %d", got.StatusCode)
				}
			}
		})
	}
	echotest.Until(t, "the first certificate is seen", func() bool { return count("first") > 10 })
	s.volume.Update(t, echotest.SecretKeys(second, ""))
	s.certificates.Rotate()
	echotest.Until(t, "the second certificate is seen", func() bool { return count("second") > 10 })
	stop()
	all.Wait()
}

func tlsClientList(t *testing.T, config *tls.Config, reuse bool) (list []*http.Client) {
	for _, client := range tlsClients(t, config) {
		client.Transport.(*http.Transport).DisableKeepAlives = !reuse //nolint:forcetypeassert // tlsClients creates it
		list = append(list, client)
	}
	return list
}

func TestTLSOptions(t *testing.T) {
	s := settingsOf(t).tls
	if s.Address != "" || s.Folder != "/etc/echo-server/tls" || s.ClientCertificate != transport.ClientCertificateNone ||
		s.MinVersion != tls.VersionTLS12 || s.Ciphers != nil {
		t.Errorf("by default: %+v", s)
	}
	s = settingsOf(t, "ECHO_TLS_ADDR=:8443", "ECHO_TLS_DIR=/d", "ECHO_TLS_SECRET=web-tls", "ECHO_TLS_CLIENT_CERTIFICATE=Request",
		"ECHO_TLS_MIN_VERSION=VersionTLS13", "ECHO_TLS_CIPHERS=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA").tls
	if s.Address != ":8443" || s.Folder != "/d" || s.Secret != "web-tls" || s.ClientCertificate != transport.ClientCertificateRequest ||
		s.MinVersion != tls.VersionTLS13 ||
		!slices.Equal(s.Ciphers, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA}) {
		t.Errorf("from the environment: %+v", s)
	}
}

// secured is a test server that serves HTTPS.
type secured struct {
	*handler
	server       *http.Server
	address      string // host and port
	certificates *transport.Certificates
	volume       *echotest.SecretVolume
	authority    *echotest.Authority   // issues the server's certificates
	log          echotest.LockedBuffer // the server's log, including rejections
}

// serveTLS serves a handler as the program does, over real TLS connections, with a certificate for the name "first".
func serveTLS(t *testing.T, clientAuthority string, environ ...string) *secured {
	t.Helper()
	inner := echotest.ListenLocally(t)
	s := secureWith(t, inner, clientAuthority, environ...)
	s.address = inner.Addr().String()
	return s
}

func secureWith(t *testing.T, inner net.Listener, clientAuthority string, environ ...string) *secured {
	t.Helper()
	s := &secured{authority: echotest.NewAuthority(t, "authority")}
	s.volume = echotest.NewSecretVolume(t, echotest.SecretKeys(s.authority.Issue(t, "first"), clientAuthority))
	s.handler = handlerOf(t, append(environ, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+s.volume.Folder, "ECHO_TLS_SECRET=web-tls")...)
	certificates, err := transport.AwaitCertificates(t.Context(), s.tls, &s.metrics.tls, echotest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	b := boundsOf(s.metrics)
	b.Reporter = transport.NewReporter(slog.New(slog.NewJSONHandler(&s.log, nil)), s.metrics.Rejected)
	s.certificates, s.server = certificates, newServer(s.handler, transport.DefaultHeaderBytes, b.Reporter)
	go func() {
		_ = s.server.Serve(transport.NewBoundedListener(transport.NewTLSListener(inner, certificates, b.Reporter),
			transport.TLSConnectionCost, b))
	}()
	t.Cleanup(func() { _ = s.server.Close() })
	return s
}

// config returns a configuration for a client that trusts the server.
func (s *secured) config(certificates ...tls.Certificate) *tls.Config {
	trusted := x509.NewCertPool()
	trusted.AddCert(s.authority.Leaf)
	return &tls.Config{RootCAs: trusted, Certificates: certificates}
}

// tlsClients returns a client for each HTTP version that the server supports over TLS.
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
