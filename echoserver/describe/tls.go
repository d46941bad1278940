package describe

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strconv"
	"strings"
	"time"
)

// TLS describes the TLS connection of a request, in the same format as the Gateway API conformance suite's echo server.
type TLS struct {
	Version            string   `json:"version"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"` // PEM
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
}

// Certificate describes the certificate that a client presented.
type Certificate struct {
	Subject          string    `json:"subject"`
	Issuer           string    `json:"issuer"`
	NotBefore        time.Time `json:"notBefore"`
	NotAfter         time.Time `json:"notAfter"`
	AlternativeNames []string  `json:"subjectAlternativeNames,omitempty"`
	SHA256           string    `json:"sha256"`
	Verified         bool      `json:"verified"` // against ca.crt
}

// DescribeTLS returns the description of a TLS state, or nil if the state is nil.
func DescribeTLS(state *tls.ConnectionState) *TLS {
	if state == nil {
		return nil
	}
	a := &TLS{Version: strings.Replace(tls.VersionName(state.Version), "TLS ", "TLSv", 1), ServerName: state.ServerName,
		NegotiatedProtocol: state.NegotiatedProtocol, CipherSuite: tls.CipherSuiteName(state.CipherSuite)}
	for _, each := range state.PeerCertificates {
		a.PeerCertificates = append(a.PeerCertificates, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.Raw})))
	}
	return a
}

// describeCertificate describes the client's certificate. It returns nil if the client presented no certificate.
func describeCertificate(state *tls.ConnectionState) *Certificate {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	digest := sha256.Sum256(leaf.Raw)
	return &Certificate{Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		AlternativeNames: alternativeNames(leaf), SHA256: hex.EncodeToString(digest[:]), Verified: len(state.VerifiedChains) > 0}
}

// alternativeNames returns the subject alternative names with their types, in the form that OpenSSL uses.
func alternativeNames(leaf *x509.Certificate) (names []string) {
	for _, each := range leaf.DNSNames {
		names = append(names, "DNS:"+each)
	}
	for _, each := range leaf.IPAddresses {
		names = append(names, "IP:"+each.String())
	}
	for _, each := range leaf.URIs {
		names = append(names, "URI:"+each.String())
	}
	for _, each := range leaf.EmailAddresses {
		names = append(names, "email:"+each)
	}
	return names
}

func (a *TLS) facts(client *Certificate) [][2]string {
	if a == nil {
		return nil
	}
	facts := [][2]string{{"tls", a.Version}, {"cipher", a.CipherSuite}, {"server name", printable(a.ServerName)},
		{"protocol", a.NegotiatedProtocol}}
	if client != nil {
		verified := "not verified"
		if client.Verified {
			verified = "verified"
		}
		facts = append(facts, [2]string{"client certificate", printable(client.Subject) + " (" + verified + ")"})
	}
	return facts
}

// printable returns text from a client, quoted if a character needs an escape.
func printable(text string) string {
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}
