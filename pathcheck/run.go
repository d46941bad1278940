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
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Options contains the options for a run.
type Options struct {
	URL     string
	Address string     // if not empty, replaces the address from DNS
	Service string     // the URL of the Echo's Service, queried once if the URL is silent; may be empty
	Direct  string     // a URL that leads to the same Echo but bypasses the proxies, to compare latencies; may be empty
	Source  netip.Addr // the address from which requests are sent; with the zero value, the system chooses
	Echo    proof.Echo // the Echo that must respond; the zero value accepts any
	Groups  []string   // the groups to examine; empty means all except the opt-in groups
	CA      []byte     // PEM certificates that are trusted in addition to the browsers' roots
	Headers []Header   // sent with each request to the URL, for paths that require them; no report contains their values
	Expect  []Expectation
	Version string // of this program

	Certificate *tls.Certificate // the client certificate for servers that request one; may be nil

	Deadline time.Duration // the maximum time for the run
}

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
	for _, url := range []string{o.Direct, o.Service} {
		if _, err := wire.ParseTarget(url, ""); url != "" && err != nil {
			return nil, err
		}
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	c, err := o.newClient(t)
	if err != nil {
		return nil, err
	}
	report := newReport(o, &c.Target)
	if k, err := probe.Meet(ctx, c); err != nil {
		report.Problem = probe.Printable(err.Error())
		report.silent = probe.SilenceOf(parent, err, o.Service) // the request to the URL may have lasted until the deadline
	} else {
		report.From.Address = k.Plain.Local.Addr().String()
		runGroups(ctx, chosen, report, func() *probe.Group { return &probe.Group{Client: c, Known: k, Direct: o.Direct, CA: o.CA} })
	}
	report.Requests, report.Bytes = c.Limits.Sent(), c.Limits.Used()
	report.finish(o.Expect)
	report.hide(newSecrets(o.Headers))
	return report, nil
}

// newClient returns the client for a run. Over HTTPS, the client sends headers only to a server with a trusted certificate, because headers
// may contain secrets.
func (o *Options) newClient(t wire.Target) (c *wire.Client, err error) {
	t.Certificate = o.Certificate
	if o.Source.IsValid() {
		t.Source = net.TCPAddrFromAddrPort(netip.AddrPortFrom(o.Source, 0))
	}
	if len(o.Headers) > 0 {
		t.Roots, err = wire.Roots(o.CA)
	}
	return &wire.Client{Target: t, Limits: wire.NewLimits(), Echo: o.Echo, Agent: "echo-pathcheck/" + o.Version, Headers: o.Headers}, err
}

// Verdict returns the part of a report that fits into a container's termination message, as JSON of at most 4,000 bytes.
func (r *Report) Verdict() []byte {
	v := verdict.Verdict{Problem: probe.Cut(r.Problem, verdict.MaxText), Facts: len(r.Facts), Unfinished: r.unfinished(),
		Silent: r.silent}
	if v.Silent != "" {
		v.Address = probe.Cut(probe.Printable(r.Address), verdict.MaxText)
	}
	for _, each := range r.Expected {
		if !each.OK {
			v.Failed = append(v.Failed, verdict.Unmet{Name: probe.Cut(each.Name, verdict.MaxName),
				Want: probe.Cut(probe.Printable(each.Want), verdict.MaxValue), Got: r.lasting(each)})
		}
	}
	return v.Encode()
}

// unfinished returns the reason why this run did not test facts that another run may test, or "" if there are no such facts. The deadline
// takes precedence over other reasons.
func (r *Report) unfinished() (reason string) {
	for _, each := range r.NotTested {
		if each.Unfinished && reason != verdict.DeadlinePassed {
			reason = probe.Cut(probe.Printable(each.Reason), verdict.MaxText)
		}
	}
	return reason
}

// lasting returns the value of a fact that does not meet an expectation. It omits measured times, so that a lasting failure does not look
// new in each run.
func (r *Report) lasting(result Result) string {
	fact, got := r.fact(result.Name), result.Got
	if q, err := parseQuantity(got); err == nil && q.isTime && fact != nil && fact.Detail {
		return "another time"
	}
	return got
}

// Header is a header that is sent with every request.
type Header = wire.Field

// credentials holds the flags for the credentials that a path requires.
type credentials struct {
	headers                      []string
	headerFile, certificate, key string
}

// readHeaders returns the headers from the file, followed by the headers from the flags. Its errors contain no header values.
func (c *credentials) readHeaders() (headers []Header, err error) {
	if c.headerFile != "" {
		content, err := os.ReadFile(c.headerFile)
		if err != nil {
			return nil, fmt.Errorf("--header-file: %w", err)
		}
		for i, line := range strings.Split(process.WithoutMark(string(content)), "\n") {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			header, err := parseHeader(line)
			if err != nil {
				return nil, fmt.Errorf("--header-file: line %d %w", i+1, err)
			}
			headers = append(headers, header)
		}
		if headers == nil {
			return nil, fmt.Errorf("--header-file: %s has no header such as X-Api-Key: value", c.headerFile)
		}
	}
	for i, text := range c.headers {
		header, err := parseHeader(text)
		if err != nil {
			return nil, fmt.Errorf("--header: number %d %w", i+1, err)
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// readCertificate returns the client certificate, or nil if no flag names one.
func (c *credentials) readCertificate() (*tls.Certificate, error) {
	switch {
	case c.certificate == "" && c.key == "":
		return nil, nil //nolint:nilnil // most paths require none
	case c.certificate == "":
		return nil, errors.New("--key: this flag requires --cert")
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, cmp.Or(c.key, c.certificate))
	if err != nil {
		return nil, fmt.Errorf("--cert: %w", err)
	}
	return &pair, nil
}

// parseHeader parses "Name: value". The caller prefixes the error with the header's position.
func parseHeader(text string) (Header, error) {
	name, value, _ := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !httpguts.ValidHeaderFieldName(name) || value == "" || !httpguts.ValidHeaderFieldValue(value):
		return Header{}, errors.New("is not a header such as 'X-Api-Key: value', in quotes")
	case isReserved(name):
		return Header{}, fmt.Errorf("is %s, which pathcheck sets itself", http.CanonicalHeaderKey(name))
	}
	return Header{Name: name, Value: value}, nil
}

// isReserved reports whether a header would change the type of a request or affect how its response is read.
func isReserved(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return strings.HasPrefix(name, "Sec-Websocket-") || slices.Contains([]string{proof.RequestHeader, "Host", "Accept", "Connection",
		"Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}, name)
}
