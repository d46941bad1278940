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

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// TestClientCertificates connects with different certificates.
func TestClientCertificates(t *testing.T) {
	known, unknown := newAuthority(t, "known"), newAuthority(t, "unknown")
	good, bad := known.issue(t, "client"), unknown.issue(t, "client")
	long := good.pair(t)
	for range maxPeerCertificates {
		long.Certificate = append(long.Certificate, known.leaf.Raw)
	}
	for name, c := range map[string]struct {
		setting, authority string
		shown              []tls.Certificate
		want               string // "" for no connection
	}{
		"None, none":                     {"None", known.pem, nil, "no certificate"},
		"None, good":                     {"None", known.pem, []tls.Certificate{good.pair(t)}, "no certificate"},
		"Request, none":                  {"Request", known.pem, nil, "no certificate"},
		"Request, good":                  {"Request", known.pem, []tls.Certificate{good.pair(t)}, "verified"},
		"Request, bad":                   {"Request", known.pem, []tls.Certificate{bad.pair(t)}, "not verified"},
		"Request without an authority":   {"Request", "", []tls.Certificate{good.pair(t)}, "not verified"},
		"Request, with too long a chain": {"Request", known.pem, []tls.Certificate{long}, ""},
		"Require, none":                  {"Require", known.pem, nil, ""},
		"Require, good":                  {"Require", known.pem, []tls.Certificate{good.pair(t)}, "verified"},
		"Require, bad":                   {"Require", known.pem, []tls.Certificate{bad.pair(t)}, ""},
	} {
		s := serveTLS(t, c.authority, "ECHO_TLS_CLIENT_CERTIFICATE="+c.setting)
		for proto, client := range tlsClients(t, showing(s.config(), c.shown)) {
			if got := shownCertificate(t, client, s.address); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", name, proto, got, c.want)
			}
		}
	}
}

// showing returns a configuration with which a client shows its certificate to any server that asks.
func showing(config *tls.Config, certificates []tls.Certificate) *tls.Config {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		return &certificates[0], nil
	}
	return config
}

// shownCertificate returns what a response tells about the certificate of the client, "" if there is none.
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

func TestClientCertificateIsTold(t *testing.T) {
	known := newAuthority(t, "known")
	pair := known.issue(t, "client").pair(t)
	s := serveTLS(t, known.pem, "ECHO_TLS_CLIENT_CERTIFICATE=Request")
	digest := sha256.Sum256(pair.Leaf.Raw)
	want := &certificate{Subject: "CN=client", Issuer: "CN=known", NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
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

// TestAuthorityIsRotated checks that a client of the last authority gets in no more, not by resuming its session either.
func TestAuthorityIsRotated(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	for setting, want := range map[string]string{"Request": "not verified", "Require": ""} {
		s := serveTLS(t, old.pem, "ECHO_TLS_CLIENT_CERTIFICATE="+setting)
		server := s.authority.issue(t, "first")
		s.volume.update(t, keysOf(server, old.pem))
		s.certificates.rotate()
		config := showing(s.config(), []tls.Certificate{old.issue(t, "client").pair(t)})
		config.ClientSessionCache = tls.NewLRUClientSessionCache(9)
		clients := tlsClientList(t, config, false)
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != "verified" {
				t.Errorf("%s: before the rotation %q", setting, got)
			}
		}
		s.volume.update(t, keysOf(server, next.pem))
		s.certificates.rotate()
		for _, client := range clients {
			if got := shownCertificate(t, client, s.address); got != want {
				t.Errorf("%s: after the rotation %q, want %q", setting, got, want)
			}
		}
	}
}

// TestSessionsAreResumed checks that sessions are resumed only if the server asks for no certificate, which it would not see again.
func TestSessionsAreResumed(t *testing.T) {
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
