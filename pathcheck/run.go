// Package pathcheck determines how the proxies in the path to an Echo change requests and responses.
//
// It sends requests to a URL, and compares each sent request with the request that the echo server received. The package imports no
// Kubernetes packages, and other projects can import it.
package pathcheck

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
	"slices"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Options contains the options for a run.
type Options struct {
	URL     string
	Address string     // if not empty, replaces the address from DNS
	Service string     // the URL of the Echo's Service, queried once if the URL is silent; may be empty
	Source  netip.Addr // the address from which requests are sent; with the zero value, the system chooses
	Proxy   *url.URL   // the forward proxy through which requests to the URL are sent; may be nil
	Echo    proof.Echo // the Echo that must respond; the zero value accepts any
	Groups  []string   // the groups to examine; empty means all except the opt-in groups
	CA      []byte     // PEM certificates that are trusted in addition to the browsers' roots
	Headers []Header   // sent with each request to the URL, for paths that require them; no report contains their values
	Expect  []Expectation
	Version string // of this program

	Certificate *tls.Certificate // the client certificate for servers that request one; may be nil

	Deadline time.Duration // the maximum time for the run

	// These replace the network in tests.
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	limits *wire.Limits // for progress; may be nil
}

// Header is a header that is sent with every request.
type Header = wire.Field

// Run examines the path to a URL. An error means that the options are invalid. The report contains all other problems.
func Run(ctx context.Context, o *Options) (*Report, error) {
	t, err := wire.ParseTarget(o.URL, o.Address)
	if err != nil {
		return nil, err
	}
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	if len(o.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.CA) {
		return nil, errors.New("the certificate file contains no PEM certificate")
	}
	if _, err := wire.ParseTarget(o.Service, ""); o.Service != "" && err != nil {
		return nil, fmt.Errorf("--own-service: %w", err)
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	t.Certificate, t.DialContext, t.Lookup = o.Certificate, o.dial, o.lookup
	if o.dial == nil {
		t.Lookup = net.DefaultResolver.LookupNetIP
	}
	if o.Source.IsValid() {
		t.Source = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.Source, 0))
	}
	if o.Proxy != nil {
		if t.Proxy, err = wire.NewProxy(*o.Proxy, o.CA); err != nil {
			return nil, err
		}
	}
	if len(o.Headers) > 0 { // headers may contain secrets, so over HTTPS they are sent only to a server with a trusted certificate
		if t.Roots, err = wire.Roots(o.CA); err != nil {
			return nil, err
		}
	}
	c := &wire.Client{Target: t, Limits: cmp.Or(o.limits, wire.NewLimits()), Echo: o.Echo, Agent: "echo-pathcheck/" + o.Version, Headers: o.Headers}
	report := newReport(o, t.Dial)
	report.Proxy = t.Proxy.Address
	engine := probe.NewEngine()
	switch k, err := probe.Meet(ctx, c, engine); {
	case k == nil:
		report.Problem = probe.Printable(err.Error())
		report.silent = probe.SilenceOf(parent, err, o.Service) // the request to the URL may have lasted until the deadline
	case err != nil:
		report.NotTested = []NotTested{{Name: "path", Reason: probe.Printable(err.Error()), Unfinished: true}}
	default:
		report.Address = c.Dial
		report.From.Address = k.Plain.Local.Addr().String()
		isLarge := len(o.Groups) > 0 || slices.ContainsFunc(o.Expect, func(e Expectation) bool { return strings.HasPrefix(e.Fact, "body.max") })
		path := group{name: "path", alone: probe.ConcludePath, needs: probe.Nothing}
		left, factor := engine.Afford(ctx, wire.MaxRequests-c.Limits.Sent())
		all := o.affordable(chosen, report, k, left, factor)
		at := len(all)
		if at > 0 && all[at-1].name == "outlierDetection" { // after it, pods may be missing
			at--
		}
		runGroups(ctx, slices.Insert(all, at, path), report, func() *probe.Group {
			return &probe.Group{Client: c, Do: c.Do, Engine: engine, Known: k, CA: o.CA, Large: isLarge}
		})
	}
	report.Requests, report.Bytes = c.Limits.Sent(), c.Limits.Used()
	report.finish(o.Expect)
	report.hide(newSecrets(o.Headers))
	report.judge()
	return report, nil
}
