package server

import (
	"crypto/tls"
	"slices"
	"testing"
)

func TestTLSSettings(t *testing.T) {
	s := settingsOf(t).tls
	if s.address != "" || s.folder != "/etc/echo-server/tls" || s.clientCertificate != clientCertificateNone || s.minVersion != tls.VersionTLS12 || s.ciphers != nil {
		t.Errorf("by default: %+v", s)
	}
	s = settingsOf(t, "ECHO_TLS_ADDR=:8443", "ECHO_TLS_DIR=/d", "ECHO_TLS_SECRET=web-tls", "ECHO_TLS_CLIENT_CERTIFICATE=Request", "ECHO_TLS_MIN_VERSION=VersionTLS13",
		"ECHO_TLS_CIPHERS=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA").tls
	if s.address != ":8443" || s.folder != "/d" || s.secret != "web-tls" || s.clientCertificate != clientCertificateRequest || s.minVersion != tls.VersionTLS13 ||
		!slices.Equal(s.ciphers, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA}) {
		t.Errorf("from the environment: %+v", s)
	}
}
