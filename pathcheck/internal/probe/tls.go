package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineTLS determines whether clients trust the certificate, which TLS settings can be negotiated, and where TLS is terminated.
func ExamineTLS(ctx context.Context, g *Group) error {
	if g.Scheme != "https" {
		return NotApplicable("the URL does not use HTTPS")
	}
	roots, err := wire.Roots(g.CA)
	if err != nil {
		return err
	}
	state := g.Known.Plain.TLS
	g.Add(decideTrust(state.PeerCertificates, g.Name, roots, time.Now())...)
	g.Add(NewFact("tls.version", tls.VersionName(state.Version), "", tls.VersionName(state.Version)),
		Detail(NewFact("tls.cipher", tls.CipherSuiteName(state.CipherSuite), "", tls.CipherSuiteName(state.CipherSuite))))
	protocol, err := handshake(ctx, g, func(*tls.Config) {}, "h2", "http/1.1")
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	value := None
	switch {
	case err != nil:
		value = "refused handshake"
	case protocol.NegotiatedProtocol != "":
		value = protocol.NegotiatedProtocol
	}
	g.Add(NewFact("tls.alpn", value, "h2, http/1.1", value))
	return g.Each(ctx, examineOldest, examineEnd)
}

// decideTrust verifies a certificate chain as a client that trusts the roots would.
func decideTrust(chain []*x509.Certificate, name string, roots *x509.CertPool, now time.Time) []Fact {
	if len(chain) == 0 {
		return nil
	}
	leaf, between := chain[0], x509.NewCertPool()
	subjects := []string{leaf.Subject.String()}
	for _, each := range chain[1:] {
		between.AddCert(each)
		subjects = append(subjects, each.Subject.String())
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
	trust, reason := Yes, "the chain is valid"
	if err != nil {
		trust, reason = "no: not valid", err.Error()
	}
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		trust = "no: not currently valid"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		trust = "no: unknown authority"
	}
	names := leaf.DNSNames
	for _, each := range leaf.IPAddresses {
		names = append(names, each.String())
	}
	match := Kept
	if leaf.VerifyHostname(name) != nil {
		match = "another"
	}
	days := int(math.Floor(leaf.NotAfter.Sub(now).Hours() / 24))
	return []Fact{
		NewFact("tls.trust", trust, "", reason),
		NewFact("tls.name", match, name, strings.Join(names, ", ")),
		Detail(NewFact("tls.chain", strconv.Itoa(len(chain)), "", strings.Join(subjects, " < "))),
		Detail(NewFact("tls.daysLeft", strconv.Itoa(days), "", leaf.NotAfter.UTC().Format(time.RFC3339))),
	}
}

// handshake connects with changed TLS settings, but sends no request.
func handshake(ctx context.Context, g *Group, change func(*tls.Config), protocols ...string) (*tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(ctx, wire.Timeout)
	defer cancel()
	end, err := g.Limits.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	connection, err := g.Connect(ctx, g.Limits)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }() // no data was written
	config := g.TLSConfig(protocols...)
	change(config)
	secured := tls.Client(connection, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := secured.ConnectionState()
	return &state, nil
}

// examineOldest determines the oldest TLS version that the path accepts.
func examineOldest(ctx context.Context, g *Group) error {
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
			g.Add(NewFact("tls.minVersion", tls.VersionName(version), "TLS 1.0 to 1.3", tls.VersionName(version)))
			return nil
		}
	}
	return nil
}

// examineEnd determines whether the Echo receives the client's TLS connection, another TLS connection, or a connection without TLS.
func examineEnd(ctx context.Context, g *Group) error {
	plain := g.Known.Plain.Description
	var older *wire.Description
	var negotiated uint16
	if plain != nil && plain.TLS != nil {
		client := &wire.Client{Target: g.Target, Limits: g.Limits, Echo: g.Echo, Agent: g.Agent, Headers: g.Headers, MaxTLS: tls.VersionTLS12}
		a, err := client.Do(ctx, &wire.Request{Path: PlainPath})
		o, err := g.Outcome(ctx, a, err)
		if err != nil {
			return err
		}
		if older = o.Described(); older != nil {
			negotiated = a.TLS.Version
		}
	}
	g.Add(decideEnd(plain, older, negotiated))
	return nil
}

// decideEnd determines whether the Echo reports the TLS version that a client limited to TLS 1.2 negotiated. older is nil if that client
// got no description.
func decideEnd(plain, older *wire.Description, negotiated uint16) Fact {
	const name = "tls.termination"
	switch {
	case plain == nil:
		return NewFact(name, "not reported", "", "")
	case plain.TLS == nil:
		return NewFact(name, "proxy", "TLS", "no TLS")
	case older == nil:
		return NewFact(name, "both or Echo", "TLS", plain.TLS.Version)
	case older.TLS != nil && older.TLS.Version != plain.TLS.Version && older.TLS.Version == strings.Replace(tls.VersionName(negotiated),
		"TLS ", "TLSv", 1):
		return NewFact(name, "Echo", "TLS 1.3, then 1.2", plain.TLS.Version+", then "+older.TLS.Version)
	}
	return NewFact(name, "both", "TLS 1.3, then 1.2", plain.TLS.Version+", both times")
}
