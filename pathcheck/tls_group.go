package pathcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// examineTLS examines the certificate, where TLS ends, and what can be negotiated.
func examineTLS(ctx context.Context, g *group) error {
	if g.scheme != "https" {
		return notApplicable("the URL has no TLS")
	}
	roots, err := roots(g.ca)
	if err != nil {
		return err
	}
	state := g.known.plain.tls
	g.add(decideTrust(state.PeerCertificates, g.target.name, roots, time.Now())...)
	g.add(newFact("tls.version", tls.VersionName(state.Version), "", tls.VersionName(state.Version), "the version of TLS that the way chooses for a client that has all"),
		detail(newFact("tls.cipher", strings.TrimPrefix(tls.CipherSuiteName(state.CipherSuite), "TLS_"), "", tls.CipherSuiteName(state.CipherSuite), "the cipher suite that the way chooses, which depends on the machine of the client, too")))
	return g.each(ctx, examineProtocols, examineOldest, examineEnd)
}

// roots returns the authorities that are trusted: those of browsers, and given ones in PEM.
func roots(ca []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("a root of the program is not valid: %w", err)
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	pool.AppendCertsFromPEM(ca)
	return pool, nil
}

// decideTrust judges a chain as a client would that trusts the roots.
func decideTrust(chain []*x509.Certificate, name string, roots *x509.CertPool, now time.Time) []Fact {
	if len(chain) == 0 {
		return nil
	}
	leaf, between := chain[0], x509.NewCertPool()
	for _, each := range chain[1:] {
		between.AddCert(each)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	trust, reason := yes, "the chain is valid"
	if err != nil {
		trust, reason = distrust(err), err.Error()
	}
	match, names := kept, strings.Join(append(leaf.DNSNames, addresses(leaf)...), ", ")
	if leaf.VerifyHostname(name) != nil {
		match = "another"
	}
	days := int(math.Floor(leaf.NotAfter.Sub(now).Hours() / 24))
	return []Fact{
		newFact("tls.trust", trust, "", reason, "whether clients trust the certificate: by the authorities of browsers and those that were given"),
		newFact("tls.name", match, name, names, "whether the certificate is for the host of the URL"),
		detail(newFact("tls.chain", strconv.Itoa(len(chain)), "", describeChain(chain), "how many certificates the way sends; without those between, some clients do not trust the first")),
		detail(newFact("tls.daysLeft", strconv.Itoa(days), "", leaf.NotAfter.UTC().Format(time.RFC3339), "how many days the certificate is still valid")),
	}
}

func distrust(err error) string {
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "no: not valid now"
	case errors.As(err, &unknown):
		return "no: unknown authority"
	}
	return "no: not valid"
}

func addresses(c *x509.Certificate) (texts []string) {
	for _, each := range c.IPAddresses {
		texts = append(texts, each.String())
	}
	return texts
}

func describeChain(chain []*x509.Certificate) string {
	var names []string
	for _, each := range chain {
		names = append(names, each.Subject.String())
	}
	return strings.Join(names, " < ")
}

// handshake connects with settings, and sends no request.
func handshake(ctx context.Context, g *group, change func(*tls.Config), protocols ...string) (*tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end, err := g.limits.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	connection, err := g.connect(ctx, g.limits)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }() // nothing was written
	config := g.tlsConfig(protocols...)
	change(config)
	secured := tls.Client(connection, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := secured.ConnectionState()
	return &state, nil
}

func examineProtocols(ctx context.Context, g *group) error {
	state, err := handshake(ctx, g, func(*tls.Config) {}, "h2", "http/1.1")
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	value := none
	switch {
	case err != nil:
		value = "refused handshake"
	case state.NegotiatedProtocol != "":
		value = state.NegotiatedProtocol
	}
	g.add(newFact("tls.alpn", value, "h2, http/1.1", value, "the protocol that the way chooses (ALPN); without h2 browsers use HTTP/1.1, and gRPC is not possible"))
	return nil
}

// examineOldest finds the oldest version of TLS that the way takes.
func examineOldest(ctx context.Context, g *group) error {
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		_, err := handshake(ctx, g, func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = version, version
			for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
				c.CipherSuites = append(c.CipherSuites, suite.ID)
			}
		})
		if ended := over(ctx, err); ended != nil {
			return ended
		}
		if err == nil {
			g.add(newFact("tls.oldest", tls.VersionName(version), "TLS 1.0 to 1.3", tls.VersionName(version), "the oldest version of TLS that the way takes; those before 1.2 are not safe"))
			return nil
		}
	}
	return nil
}

// examineEnd finds out whether the Echo sees the TLS of the client, another one, or none.
func examineEnd(ctx context.Context, g *group) error {
	e := g.known.plain.echo
	if e == nil || e.TLS == nil {
		g.add(decideEnd(e, nil, 0))
		return nil
	}
	older := &client{target: g.target, limits: g.limits, echo: g.echo, agent: g.agent, maxTLS: tls.VersionTLS12}
	a, err := older.do(ctx, &request{path: plainPath})
	o, err := g.outcome(ctx, a, err)
	if err != nil {
		return err
	}
	if o.echoed() == nil {
		g.add(decideEnd(e, nil, 0))
		return nil
	}
	g.add(decideEnd(e, a.echo, a.tls.Version))
	return nil
}

// decideEnd compares what the Echo tells of TLS with what a client negotiated that has at most TLS 1.2, if it could.
func decideEnd(plain, older *echo, negotiated uint16) Fact {
	const name, meaning = "tls.ends", "where the TLS of the client ends: at the way, at the Echo, or at both, with another one between them"
	switch {
	case plain == nil:
		return newFact(name, "not told", "", "", meaning)
	case plain.TLS == nil:
		return newFact(name, "way", "TLS", "no TLS", meaning)
	case older == nil:
		return newFact(name, "both or Echo", "TLS", plain.TLS.Version, meaning)
	case older.TLS != nil && older.TLS.Version != plain.TLS.Version && older.TLS.Version == strings.Replace(tls.VersionName(negotiated), "TLS ", "TLSv", 1):
		return newFact(name, "Echo", "TLS 1.3, then 1.2", plain.TLS.Version+", then "+older.TLS.Version, meaning)
	}
	return newFact(name, "both", "TLS 1.3, then 1.2", plain.TLS.Version+", both times", meaning)
}
