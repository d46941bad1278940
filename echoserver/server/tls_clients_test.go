package server

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// maxPeerCertificates repeats the limit in the tlsserver package.
const maxPeerCertificates = 8

// TestRunHandshake_verifiesClientCertificates connects with different client certificates.
func TestRunHandshake_verifiesClientCertificates(t *testing.T) {
	known, unknown := echotest.NewAuthority(t, "known"), echotest.NewAuthority(t, "unknown")
	good, bad := known.Issue(t, "client"), unknown.Issue(t, "client")
	long := good.Pair(t)
	for range maxPeerCertificates {
		long.Certificate = append(long.Certificate, known.Leaf.Raw)
	}
	for name, c := range map[string]struct {
		setting, authority string
		shown              []tls.Certificate
		want               string // empty if the connection must fail
	}{
		"None, none":                     {"None", known.PEM, nil, "no certificate"},
		"None, good":                     {"None", known.PEM, []tls.Certificate{good.Pair(t)}, "no certificate"},
		"Request, none":                  {"Request", known.PEM, nil, "no certificate"},
		"Request, good":                  {"Request", known.PEM, []tls.Certificate{good.Pair(t)}, "verified"},
		"Request, bad":                   {"Request", known.PEM, []tls.Certificate{bad.Pair(t)}, "not verified"},
		"Request without an authority":   {"Request", "", []tls.Certificate{good.Pair(t)}, "not verified"},
		"Request, with too long a chain": {"Request", known.PEM, []tls.Certificate{long}, ""},
		"Require, none":                  {"Require", known.PEM, nil, ""},
		"Require, good":                  {"Require", known.PEM, []tls.Certificate{good.Pair(t)}, "verified"},
		"Require, bad":                   {"Require", known.PEM, []tls.Certificate{bad.Pair(t)}, ""},
	} {
		s := serveTLS(t, c.authority, "ECHO_TLS_CLIENT_CERTIFICATE="+c.setting)
		for proto, client := range tlsClients(t, showing(s.config(), c.shown)) {
			if got := shownCertificate(t, client, s.address); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", name, proto, got, c.want)
			}
		}
	}
}

// showing returns a TLS configuration that makes the client present its certificate to any server that requests one.
func showing(config *tls.Config, certificates []tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		return &certificates[0], nil
	}
	return config
}

// shownCertificate returns how a response describes the client certificate, or "" if there is no response.
func shownCertificate(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	response, err := client.Get("https://" + address + "/")
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	told := decode(t, string(data)).Client.Certificate
	switch {
	case told == nil:
		return "no certificate"
	case told.Verified:
		return "verified"
	}
	return "not verified"
}

func TestDescribeCertificate(t *testing.T) {
	known := echotest.NewAuthority(t, "known")
	pair := known.Issue(t, "client").Pair(t)
	s := serveTLS(t, known.PEM, "ECHO_TLS_CLIENT_CERTIFICATE=Request")
	digest := sha256.Sum256(pair.Leaf.Raw)
	want := &describe.Certificate{Subject: "CN=client", Issuer: "CN=known", NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
		AlternativeNames: []string{"DNS:client", "IP:127.0.0.1"}, SHA256: hex.EncodeToString(digest[:]), Verified: true}
	for proto, client := range tlsClients(t, s.config(pair)) {
		told := decode(t, echotest.Send(t, client, http.MethodGet, "https://"+s.address, "").Text)
		if diff := cmp.Diff(want, told.Client.Certificate); diff != "" {
			t.Errorf("%s (-want +got):\n%s", proto, diff)
		}
		block, _ := pem.Decode([]byte(strings.Join(told.TLS.PeerCertificates, "")))
		if block == nil || block.Type != "CERTIFICATE" || !cmp.Equal(block.Bytes, pair.Leaf.Raw) {
			t.Errorf("%s: the certificates are %q", proto, told.TLS.PeerCertificates)
		}
	}
}

// TestCertificates_rotatesAuthority checks that the server no longer trusts a certificate from the previous authority, even if the client
// resumes its session.
func TestCertificates_rotatesAuthority(t *testing.T) {
	old, next := echotest.NewAuthority(t, "old"), echotest.NewAuthority(t, "next")
	for setting, want := range map[string]string{"Request": "not verified", "Require": ""} {
		s := serveTLS(t, old.PEM, "ECHO_TLS_CLIENT_CERTIFICATE="+setting)
		server := s.authority.Issue(t, "first")
		s.volume.Update(t, echotest.SecretKeys(server, old.PEM))
		s.certificates.Rotate()
		config := showing(s.config(), []tls.Certificate{old.Issue(t, "client").Pair(t)})
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		clients := tlsClientList(t, config, false)
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != "verified" {
				t.Errorf("%s: before the rotation %q", setting, got)
			}
		}
		s.volume.Update(t, echotest.SecretKeys(server, next.PEM))
		s.certificates.Rotate()
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != want {
				t.Errorf("%s: after the rotation %q, want %q", setting, got, want)
			}
		}
	}
}

// TestNewListener_resumesSessions checks that sessions are resumed only if the server requests no client certificate, because a client that
// resumes a session does not present its certificate again.
func TestNewListener_resumesSessions(t *testing.T) {
	for setting, want := range map[string]bool{"None": true, "Request": false} {
		s := serveTLS(t, "", "ECHO_TLS_CLIENT_CERTIFICATE="+setting)
		config := s.config()
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		for _, client := range tlsClientList(t, config, false) {
			echotest.Send(t, client, http.MethodGet, "https://"+s.address, "")
			if got := echotest.Send(t, client, http.MethodGet, "https://"+s.address, "").TLS.DidResume; got != want {
				t.Errorf("%s: the session is resumed: %t", setting, got)
			}
		}
	}
}
