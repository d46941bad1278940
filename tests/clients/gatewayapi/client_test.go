// Package gatewayapi tests that the Gateway API conformance suite's client can parse the echo server's response.
package gatewayapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"

	"github.com/echo-operator/echo-operator/tests/clients"
)

func TestClientParsesResponse(t *testing.T) {
	address := clients.Start(t, "ECHO_POD_NAMESPACE=ns", "ECHO_POD_NAME=pod-1", "ECHO_SERVICE_NAME=service", "ECHO_INGRESS_NAME=ingress")
	client := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	for protocol, proto := range map[string]string{"": "HTTP/1.1", roundtripper.H2CPriorKnowledgeProtocol: "HTTP/2.0"} {
		request, response, err := client.CaptureRoundTrip(roundtripper.Request{
			T: t, URL: url.URL{Scheme: "http", Host: address, Path: "/a/b", RawQuery: "x=1&y=%20"}, Host: "example.com", Protocol: protocol,
			Method: http.MethodPut, Body: "hello",
			Headers: map[string][]string{"X-A": {"1"}, "X-Echo-Set-Header": {"X-Set:set, X-More:more"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string][2]string{
			"path": {request.Path, "/a/b?x=1&y=%20"}, "host": {request.Host, "example.com"}, "method": {request.Method, "PUT"},
			"protocol":  {request.Protocol, proto},
			"namespace": {request.Namespace, "ns"}, "pod": {request.Pod, "pod-1"}, "TLS": {request.TLS.Version, ""},
			"HTTP port": {request.HTTPPort, address[strings.LastIndex(address, ":")+1:]}, "X-A": {strings.Join(request.Headers["X-A"], ","), "1"},
			"status": {fmt.Sprint(response.StatusCode), "200"}, "X-Set": {strings.Join(response.Headers["X-Set"], ","), "set"},
			"X-More": {strings.Join(response.Headers["X-More"], ","), "more"},
		} {
			if c[0] != c[1] {
				t.Errorf("%s: the %s is %q, want %q", proto, what, c[0], c[1])
			}
		}
	}
}

// TestClientParsesTLS sends a request with the server's certificate as the client certificate.
func TestClientParsesTLS(t *testing.T) {
	certificate, key := selfSigned(t, "a.example")
	folder := t.TempDir()
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": certificate} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	address := clients.Run(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder, "ECHO_TLS_CLIENT_CERTIFICATE=Require").HTTPS
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	client := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	for protocol, proto := range map[string]string{roundtripper.HTTPSProtocol: "HTTP/1.1", roundtripper.H2Protocol: "HTTP/2.0"} {
		request, _, err := client.CaptureRoundTrip(roundtripper.Request{T: t, URL: url.URL{Scheme: "https", Host: address}, Host: "a.example",
			Protocol: protocol,
			Method:   http.MethodGet, ServerName: "a.example", ServerCertificate: certificate,
			GetClientCertificateHook: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }})
		if err != nil {
			t.Fatal(err)
		}
		told := request.TLS
		if told.Version != "TLSv1.3" || told.ServerName != "a.example" || told.CipherSuite != "TLS_AES_128_GCM_SHA256" ||
			request.HTTPPort != port ||
			request.Protocol != proto || (told.NegotiatedProtocol == "h2") != (proto == "HTTP/2.0") {
			t.Errorf("%s: it parses %s, the port %s and %+v", proto, request.Protocol, request.HTTPPort, told)
		}
		if len(told.PeerCertificates) != 1 || !bytes.Equal([]byte(told.PeerCertificates[0]), certificate) {
			t.Errorf("%s: the certificates are %q", proto, told.PeerCertificates)
		}
	}
}

// selfSigned returns a certificate and its key in PEM format.
func selfSigned(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
