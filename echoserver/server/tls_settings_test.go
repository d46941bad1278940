package server

import (
	"crypto/tls"
	"slices"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
)

func TestTLSOptions(t *testing.T) {
	s := settingsOf(t).tls
	if s.Address != "" || s.Folder != "/etc/echo-server/tls" || s.ClientCertificate != tlsserver.ClientCertificateNone ||
		s.MinVersion != tls.VersionTLS12 || s.Ciphers != nil {
		t.Errorf("by default: %+v", s)
	}
	s = settingsOf(t, "ECHO_TLS_ADDR=:8443", "ECHO_TLS_DIR=/d", "ECHO_TLS_SECRET=web-tls", "ECHO_TLS_CLIENT_CERTIFICATE=Request",
		"ECHO_TLS_MIN_VERSION=VersionTLS13", "ECHO_TLS_CIPHERS=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA").tls
	if s.Address != ":8443" || s.Folder != "/d" || s.Secret != "web-tls" || s.ClientCertificate != tlsserver.ClientCertificateRequest ||
		s.MinVersion != tls.VersionTLS13 ||
		!slices.Equal(s.Ciphers, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA}) {
		t.Errorf("from the environment: %+v", s)
	}
}
