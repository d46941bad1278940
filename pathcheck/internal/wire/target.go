package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Target describes where requests are sent.
type Target struct {
	Scheme string
	Host   string   // the value of the Host header
	Name   string   // the server's name, without the port
	Dial   string   // host and port
	Base   string   // the Echo's path, which does not end in a slash
	Source net.Addr // the address from which requests are sent; nil means that the system chooses
	Proxy  Proxy    // through which requests are sent

	DialContext func(ctx context.Context, network, address string) (net.Conn, error)  // nil means net.Dialer
	Lookup      func(ctx context.Context, network, host string) ([]netip.Addr, error) // nil means that Dial has the only address

	Certificate *tls.Certificate // the client certificate for servers that request one; may be nil
	Roots       *x509.CertPool   // the trusted authorities for the server's certificate; nil means no verification
}

// ParseTarget parses a URL. Unless address is empty, connections go to this IP address or name (port optional) instead of the URL's host.
func ParseTarget(text, address string) (Target, error) {
	u, err := verdict.ParseURL(text)
	if err != nil {
		return Target{}, err
	}
	name, zone, _ := strings.Cut(u.Hostname(), "%") // a zone is meaningful only on this machine (RFC 6874)
	t := Target{Scheme: u.Scheme, Host: strings.Replace(strings.TrimSuffix(u.Host, ":"), "%"+zone+"]", "]", 1), Name: name,
		Base: strings.TrimRight(u.Path, "/")}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	t.Dial = net.JoinHostPort(u.Hostname(), port)
	if address == "" {
		return t, nil
	}
	t.Dial, err = verdict.ParseAddress(address, port)
	return t, err
}

// Addresses returns the hosts and ports that DNS returns for the target's name. It omits loopback addresses, because clients of a local
// server try all of them. Behind a forward proxy, only the proxy looks up the name. Connect reports the errors of DNS.
func (t *Target) Addresses(ctx context.Context) (addresses []string) {
	host, port, _ := net.SplitHostPort(t.Dial)
	if t.Lookup == nil || t.Proxy.Address != "" {
		return nil
	}
	found, _ := t.Lookup(ctx, "ip", host)
	for _, each := range found {
		if !each.IsLoopback() {
			addresses = append(addresses, net.JoinHostPort(each.Unmap().String(), port))
		}
	}
	return addresses
}

// Connect opens a connection whose bytes count toward the limits.
func (t *Target) Connect(ctx context.Context, l *Limits) (net.Conn, error) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: Timeout, LocalAddr: t.Source}).DialContext
	}
	c, err := dial(ctx, "tcp", cmp.Or(t.Proxy.Address, t.Dial))
	if err != nil {
		return nil, err
	}
	if c = (&countedConn{c, l}); t.Proxy.Address != "" {
		return t.Proxy.tunnel(ctx, c, t.Dial)
	}
	return c, nil
}

// TLSConfig returns the TLS settings for the given protocols. Without roots, the client does not verify the certificate, because a fact
// reports whether the certificate is trusted.
func (t *Target) TLSConfig(protocols ...string) *tls.Config {
	config := &tls.Config{ServerName: t.Name, InsecureSkipVerify: t.Roots == nil, RootCAs: t.Roots, NextProtos: protocols,
		MinVersion: tls.VersionTLS10,
		// Browsers also offer RSA key exchange, and some servers accept nothing else.
		CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA}}
	for _, suite := range tls.CipherSuites() {
		config.CipherSuites = append(config.CipherSuites, suite.ID)
	}
	if t.Certificate != nil { // sent regardless of which authorities the server lists
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.Certificate, nil }
	}
	return config
}

var ErrHandshake = errors.New("TLS handshake")

// secure adds TLS to a connection if the URL's scheme is https.
func (t *Target) secure(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	if t.Scheme != "https" {
		return c, nil
	}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrHandshake, err), c.Close())
	}
	return secured, nil
}
