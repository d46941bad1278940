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
	"net/url"
	"strconv"
	"strings"
)

// Target describes where requests are sent.
type Target struct {
	Scheme string
	Host   string   // the value of the Host header
	Name   string   // the server's name, without the port
	Dial   string   // host and port
	Base   string   // the Echo's path, which does not end in a slash
	Source net.Addr // the address from which requests are sent; nil means that the system chooses

	Certificate *tls.Certificate // the client certificate for servers that request one; may be nil
	Roots       *x509.CertPool   // the trusted authorities for the server's certificate; nil means no verification
}

// ParseTarget parses a URL. If address is not empty, connections go to this IP address or name, with an optional port, instead of the URL's
// host.
func ParseTarget(text, address string) (Target, error) {
	if u, err := url.Parse("http://" + text); !strings.Contains(text, "://") && err == nil && isPlain(u) {
		return Target{}, fmt.Errorf("%q has no scheme: write http://%[1]s or https://%[1]s", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return Target{}, err
	}
	if !isPlain(u) {
		return Target{}, fmt.Errorf("%q is not a URL such as https://example.com/shop: a scheme, a host, and an optional port and path",
			text)
	}
	if strings.Contains(u.EscapedPath()+"/", "/../") || strings.Contains(u.EscapedPath(), "%") {
		return Target{}, fmt.Errorf("the path of %q must have neither dot segments nor escapes", text)
	}
	name, zone, _ := strings.Cut(u.Hostname(), "%") // a zone is meaningful only on this machine (RFC 6874)
	t := Target{Scheme: u.Scheme, Host: strings.Replace(strings.TrimSuffix(u.Host, ":"), "%"+zone+"]", "]", 1), Name: name,
		Base: strings.TrimRight(u.Path, "/")}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	t.Dial = net.JoinHostPort(u.Hostname(), port)
	if address == "" {
		return t, nil
	}
	t.Dial, err = dialAddress(address, port)
	return t, err
}

// dialAddress returns the address with its own port or, if it has none, with the given port.
func dialAddress(address, port string) (string, error) {
	host, own, err := net.SplitHostPort(address)
	if err != nil {
		host, own = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), port
	}
	_, isIP := netip.ParseAddr(host)
	if number, err := strconv.ParseUint(own, 10, 16); err != nil || number == 0 || isIP != nil &&
		(host == "" || strings.ContainsAny(host, ":/[]@? ")) {
		return "", fmt.Errorf("%q is not the address of a server: a host name or IP address with an optional port, such as 192.0.2.1:8443",
			address)
	}
	return net.JoinHostPort(host, own), nil
}

// isPlain reports whether a URL has only a scheme, a host, and optionally a port and a path.
func isPlain(u *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16)
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" &&
		err == nil && port != 0
}

// Connect opens a connection whose bytes count toward the limits.
func (t *Target) Connect(ctx context.Context, l *Limits) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: Timeout, LocalAddr: t.Source}).DialContext(ctx, "tcp", t.Dial)
	if err != nil {
		return nil, err
	}
	return &countedConn{c, l}, nil
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
