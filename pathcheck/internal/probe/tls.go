package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Encrypted is the requirement of a group that examines TLS. It returns the reason why the group cannot be tested, or "".
func Encrypted(k *Known) string { return choose(k.Plain.TLS == nil, "the URL does not use HTTPS", "") }

// ExamineTLS determines whether clients trust the certificate, which TLS settings can be negotiated, and where TLS is terminated.
func ExamineTLS(ctx context.Context, g *Group) error {
	roots, err := wire.Roots(g.CA)
	if err != nil {
		return err
	}
	state := g.Known.Plain.TLS
	g.Add(decideTrust(state.PeerCertificates, g.Name, roots, time.Now())...)
	g.Add(NewFact("tls.version", tls.VersionName(state.Version), "", tls.VersionName(state.Version)),
		Detail(NewFact("tls.cipher", tls.CipherSuiteName(state.CipherSuite), "", tls.CipherSuiteName(state.CipherSuite))))
	return g.Each(ctx, examineProtocol, examineOldest, examineEnd)
}

// examineProtocol determines which application protocol the server chooses.
func examineProtocol(ctx context.Context, g *Group) error {
	return g.find(ctx, experiment{fact: "tls.alpn", sent: "h2, http/1.1", send: g.handshake(func(*tls.Config) {}, "h2", "http/1.1"),
		read: func(o Outcome) (string, string) {
			if o.TLS == nil {
				return "refused handshake", "a TLS alert"
			}
			protocol := cmp.Or(o.TLS.NegotiatedProtocol, None)
			return protocol, protocol
		},
		refused: func(o Outcome) (string, string) { return "refused handshake", o.Refusal }})
}

// decideTrust verifies a certificate chain as a client that trusts the roots would.
func decideTrust(chain []*x509.Certificate, name string, roots *x509.CertPool, now time.Time) []Fact {
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
	days := int(math.Floor(leaf.NotAfter.Sub(now).Hours() / 24))
	return []Fact{
		NewFact("tls.trust", trust, "", reason),
		NewFact("tls.name", choose(leaf.VerifyHostname(name) == nil, Kept, "another"), name, strings.Join(names, ", ")),
		Detail(NewFact("tls.chain", strconv.Itoa(len(chain)), "", strings.Join(subjects, " < "))),
		Detail(NewFact("tls.daysLeft", strconv.Itoa(days), "", leaf.NotAfter.UTC().Format(time.RFC3339))),
	}
}

// handshake returns a function that connects with changed TLS settings, but sends no request. Its response is not from the Echo.
func (g *Group) handshake(change func(*tls.Config), protocols ...string) sender {
	return func(ctx context.Context, _ *wire.Request) (*wire.Response, error) {
		end, err := g.Limits.Begin(ctx)
		if err != nil {
			return nil, err
		}
		defer end()
		ctx, cancel := context.WithTimeout(ctx, wire.Timeout+g.Slow)
		defer cancel()
		connection, err := g.Connect(ctx, g.Limits)
		if err != nil {
			return nil, err
		}
		defer func() { _ = connection.Close() }() // no data was written
		config := g.TLSConfig(protocols...)
		change(config)
		secured := tls.Client(connection, config)
		var alert *net.OpError
		switch err := secured.HandshakeContext(ctx); {
		case errors.As(err, &alert) && alert.Op == "remote error": // the server explains its refusal, so that this is no error of the path
			return &wire.Response{Proven: true}, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", wire.ErrHandshake, err)
		}
		state := secured.ConnectionState()
		return &wire.Response{TLS: &state, Proven: true}, nil
	}
}

// examineOldest determines the oldest TLS version that the path accepts.
func examineOldest(ctx context.Context, g *Group) error {
	const name, sent = "tls.minVersion", "TLS 1.0 to 1.3, with the cipher suites of Go, which have neither DHE nor CCM"
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		r, err := g.perform(ctx, experiment{once: true,
			send: g.handshake(func(c *tls.Config) {
				c.MinVersion, c.MaxVersion = version, version
				for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
					c.CipherSuites = append(c.CipherSuites, suite.ID)
				}
			}),
			read: func(o Outcome) (string, string) {
				if o.TLS == nil {
					return "refused", ""
				}
				return tls.VersionName(version), tls.VersionName(version)
			},
			refused: func(o Outcome) (string, string) { return "refused", "" }})
		if err != nil {
			return err
		}
		if r.value != "refused" {
			return g.conclude(experiment{fact: name, sent: sent}, r, nil)
		}
	}
	return nil
}

// examineEnd determines whether the Echo receives the client's TLS connection, another TLS connection, or a connection without TLS.
func examineEnd(ctx context.Context, g *Group) error {
	const name = "tls.termination"
	plain := g.Known.Plain.Description
	switch {
	case plain == nil:
		return g.conclude(experiment{fact: name}, result{received: Descriptions(g.Known)}, nil)
	case plain.TLS == nil:
		return g.conclude(experiment{fact: name, sent: "TLS"}, result{value: "proxy", received: "no TLS"}, nil)
	}
	client := *g.Client
	client.MaxTLS = tls.VersionTLS12
	return g.find(ctx, experiment{fact: name, sent: "TLS 1.3, then 1.2", probe: wire.Request{Path: PlainPath}, send: client.Do,
		read: func(o Outcome) (string, string) {
			if o.Description == nil {
				return "", whyNotDescribed(o)
			}
			return decideEnd(plain, o.Description, o.TLS.Version)
		},
		refused: func(Outcome) (string, string) { return "both or Echo", plain.TLS.Version }})
}

// decideEnd determines whether the Echo reports the TLS version that a client limited to TLS 1.2 negotiated.
func decideEnd(plain, older *wire.Description, negotiated uint16) (value, received string) {
	if older.TLS != nil && older.TLS.Version != plain.TLS.Version &&
		older.TLS.Version == strings.Replace(tls.VersionName(negotiated), "TLS ", "TLSv", 1) {
		return "Echo", plain.TLS.Version + ", then " + older.TLS.Version
	}
	return "both", plain.TLS.Version + ", both times"
}
