package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Known holds the properties of the Echo that the first requests have revealed.
type Known struct {
	Plain     *wire.Response   // the first response to a plain request
	Addresses []Fact           // about the addresses of the URL's host; empty if they are unknown
	Samples   []*wire.Response // all responses to plain requests on separate connections
	Base      string           // the Echo's path as the Echo receives it
	Query     bool             // whether queries arrive
	Controls  bool             // whether requests can control responses
	Full      bool             // whether requests can use all controls

	uncontrolled string // the reason why requests cannot control responses; empty if there is none or it is unknown
	unrouted     string // the reason why requests do not reach the Echo's own paths, such as /-/ws; empty if they do or it is unknown
}

// PlainPath is the path of a plain request, relative to the Echo's path.
const PlainPath = "/pathcheck"

// Nothing is the requirement of a group that can always be tested.
func Nothing(*Known) string { return "" }

// Descriptions is the requirement of a group that needs responses to describe requests. It returns why the group cannot be tested, or "".
func Descriptions(k *Known) string {
	a := k.Plain
	switch {
	case a.Description != nil:
		return ""
	case a.Changed:
		return "responses are changed: the body is not the one that the Echo sent"
	case a.Size == 0:
		return fmt.Sprintf("the Echo's responses have no body (status %d)", a.Status)
	}
	return fmt.Sprintf("the Echo's responses do not describe requests: they have a fixed body (spec.response.body), "+
		"or a proxy changes them (%d bytes, Content-Type: %s)", a.Size, Cut(Printable(a.Header.Get("Content-Type")), maxText))
}

// Controls is the requirement of a group that must control responses. It returns the reason why the group cannot be tested, or "".
func Controls(k *Known) string { return k.uncontrolled }

// Routes is the requirement of a group that needs the Echo's own paths. It returns the reason why the group cannot be tested, or "".
func Routes(k *Known) string { return k.unrouted }

const (
	// meetings is the number of requests after which a URL without a proven response does not lead to the Echo. Errors alone explain as many
	// failures only if they are more frequent than one in ten.
	meetings = 6
	// samples is the number of plain requests that reveal how frequent errors are, and how requests are distributed.
	samples = 20
	// sampledAtOnce is how many of them are sent at the same time.
	sampledAtOnce = 4
)

// meet sends requests until a response proves that it comes from the Echo. It sends all but the first request at the same time.
func meet(ctx context.Context, c *wire.Client, requests int) (*wire.Response, error) {
	a, err := c.Do(ctx, &wire.Request{Path: PlainPath})
	if err != nil || !a.Proven {
		others, _ := inParallel(ctx, requests-1, func(ctx context.Context, _ int) (*wire.Response, error) {
			a, _ := c.Do(ctx, &wire.Request{Path: PlainPath}) // nil if there is none
			return a, nil
		})
		for _, each := range others {
			if each != nil && each.Proven && DeadlineIn(ctx) == nil {
				a, err = each, nil
			}
		}
	}
	switch {
	case err != nil:
		return nil, &noResponse{strings.TrimSpace(c.Dial + " " + Through(c.Proxy.Address)), err}
	case !a.Proven:
		return nil, stranger(c, a)
	}
	return a, nil
}

// meetAddresses meets the Echo at each address of the URL's host, because clients choose any of them. It returns the first response that
// comes from the Echo, and a fact unless the addresses are unknown.
func meetAddresses(ctx context.Context, c *wire.Client) (*wire.Response, []Fact, error) {
	all := c.Addresses(ctx)
	addresses := all[:min(len(all), meetings-1)]
	responses, problems := make([]*wire.Response, len(addresses)), make([]error, len(addresses))
	try := func(requests int) {
		_, _ = inParallel(ctx, len(addresses), func(ctx context.Context, i int) (struct{}, error) {
			if responses[i] == nil {
				other := *c
				other.Dial = addresses[i]
				responses[i], problems[i] = meet(ctx, &other, requests)
			}
			return struct{}{}, nil
		})
	}
	try(1)
	first := slices.IndexFunc(responses, func(a *wire.Response) bool { return a != nil })
	if first < 0 { // also if the addresses are unknown
		a, err := meet(ctx, c, meetings-len(addresses))
		return a, nil, err
	}
	try(meetings - 1) // an error may have caused a problem
	const name = "path.addresses"
	var texts, untested []string
	reached := 0
	for i, each := range addresses {
		switch {
		case responses[i] != nil:
			reached++
			texts = append(texts, each+": the Echo")
		case isAny(problems[i], syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT),
			errors.As(problems[i], new(*net.AddrError)): // due to this machine, such as one without IPv6
			untested = append(untested, each)
		default:
			texts = append(texts, strings.TrimPrefix(problems[i].Error(), "no response from "))
		}
	}
	f := NewFact(name, "all", strings.Join(addresses, ", "), strings.Join(texts, "; "))
	if tested := len(addresses) - len(untested); reached < tested {
		f.Value = fmt.Sprintf("%d of %d", reached, tested)
	} else if len(untested) > 0 {
		f = unknown(name, "this machine has no route to "+strings.Join(untested, ", "))
	} else if len(addresses) < len(all) {
		f = unknown(name, fmt.Sprintf("only %d of %d addresses were tested", len(addresses), len(all)))
	}
	return responses[first], []Fact{f}, nil
}

// Meet sends the first requests, which reveal the Echo's properties and the path's errors. It sends only a few unless a response proves
// that it comes from the Echo.
func Meet(ctx context.Context, c *wire.Client, e *Engine) (*Known, error) {
	a, addresses, err := meetAddresses(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Proxy.Address == "" {
		c.Dial = a.Remote // other addresses from DNS might not lead to the Echo
	} else {
		addresses = []Fact{unknown("path.addresses", Through(c.Proxy.Address))}
	}
	k := &Known{Plain: a, Addresses: addresses}
	g := &Group{Client: c, Do: c.Do, Engine: e, Known: k}
	if err := k.sample(ctx, g); err != nil {
		return k, err
	}
	if a.Description != nil {
		k.Base = baseOf(a.Description)
	}
	for _, each := range k.Samples { // waits must not take a slow path for silence
		c.Slow = max(c.Slow, 4*each.Took)
	}
	for _, each := range append(k.Samples, a) {
		k.Query = k.Query || each.Description != nil && strings.Contains(each.Description.Path, "?")
		for _, own := range c.Headers { // these headers come from this program, not from the path
			if each.Description != nil {
				delete(each.Description.Headers, http.CanonicalHeaderKey(own.Name))
			}
		}
	}
	if a.Description == nil || !strings.HasSuffix(a.Description.PathOnly(), PlainPath) {
		r, err := g.perform(ctx, experiment{probe: wire.Request{Path: "/-/body"}, read: func(o Outcome) (string, string) {
			return choose(hasType(o.Response, "application/octet-stream"), Yes, No), ""
		}})
		if err != nil {
			return k, err
		}
		k.unrouted = choose(r.value == No, "a proxy replaces paths, so that requests do not reach the Echo's own paths, such as /-/ws", "")
	}
	return k, k.findControls(ctx, g)
}

// baseOf returns the Echo's path as the Echo received it with a plain request.
func baseOf(e *wire.Description) string { return strings.TrimSuffix(e.PathOnly(), PlainPath) }

// sample sends plain requests on separate connections.
func (k *Known) sample(ctx context.Context, g *Group) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(sampledAtOnce)
	for range samples {
		all.Go(func() error {
			o, err := g.ask(ctx, g.Do, plainRequest())
			if err != nil {
				return err
			}
			if o.Arrived() {
				o.Body = nil // a run keeps many samples
				g.mutex.Lock()
				k.Samples = append(k.Samples, o.Response)
				g.mutex.Unlock()
			}
			return g.Engine.control(o)
		})
	}
	return all.Wait()
}

// sampleTooSmall returns why the samples do not show all pods, or "" if they do.
func (k *Known) sampleTooSmall() string {
	return choose(len(k.Samples) < samples*3/4, fmt.Sprintf("errors: %d of %d requests did not arrive", samples-len(k.Samples), samples), "")
}

// findControls determines whether requests can control responses.
func (k *Known) findControls(ctx context.Context, g *Group) error {
	const controls = PlainPath + "?echo.size=1&echo.status=299"
	r, err := g.perform(ctx, experiment{once: true,
		probe: wire.Request{Path: controls},
		read:  func(o Outcome) (string, string) { return cmp.Or(k.whyNotControlled(o.Response), Yes), "" },
		refused: func(o Outcome) (string, string) {
			return "a proxy does not forward requests with controls: " + describeRefusal(o.Refusal), ""
		}})
	if err != nil {
		return err
	}
	if k.Controls = r.value == Yes; !k.Controls {
		k.uncontrolled = cmp.Or(r.value, r.received)
		return nil
	}
	const name = "Pathcheck-Full" // a request can set this header only with spec.server.controls: Full
	r, err = g.perform(ctx, experiment{probe: wire.Request{Path: PlainPath + "?echo.set-header=" + name + ":1"},
		read: func(o Outcome) (string, string) {
			_, isSet := o.Claims.Fields[name]
			return choose(isSet, Yes, No), ""
		}})
	k.Full = r.value == Yes
	return err
}

// whyNotControlled returns the reason why a request for a body of one byte did not control the response, or "" if it did.
func (k *Known) whyNotControlled(a *wire.Response) string {
	switch {
	case a.Claims.Status == 299: // which no settings would choose
		return ""
	case a.Description == nil:
		return fmt.Sprintf("requests cannot control the Echo's responses (status %d), because of spec.server.controls: None or a proxy", a.Status)
	case !strings.Contains(a.Description.Path, "echo.size=1"):
		return "a proxy removes controls from the query"
	}
	return "requests cannot control the Echo's responses (spec.server.controls: None)"
}

// SilenceOf returns the part of the path that was silent when a request to a URL failed. If nothing responded, it queries the Echo's
// Service once, unless the Service's URL is empty.
func SilenceOf(ctx context.Context, err error, service string) verdict.Silence {
	url := silentPart(err)
	target, invalid := wire.ParseTarget(service, "")
	if url == "" || invalid != nil {
		return url
	}
	connection, err := target.Connect(ctx, wire.NewLimits())
	if err == nil {
		_ = connection.Close() // nothing was sent
	}
	switch part := silentPart(err); {
	case part == "" && url == verdict.SilentResolver:
		return "" // the resolver responds to queries for the Service's name, so only an upstream server of the resolver is silent
	case part == "", part == verdict.SilentResolver && url == part:
		return url
	}
	return verdict.SilentAll
}

// silentPart returns the part of the path that was silent during a request: the resolver or the address. A refused connection counts as a
// response from a server, but not from a resolver. An address is also silent if packets have no route to it or may not reach it.
func silentPart(err error) verdict.Silence {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		if dns.Temporary() && dns.Err != "server misbehaving" { // SERVFAIL, for which package net exports no name
			return verdict.SilentResolver
		}
	case errors.As(err, &op) && op.Op == "dial" &&
		(op.Timeout() || isAny(op, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM)):
		return verdict.SilentURL
	}
	return ""
}

func isAny(err error, codes ...syscall.Errno) bool {
	return slices.ContainsFunc(codes, func(code syscall.Errno) bool { return errors.Is(err, code) })
}

// noResponse is the error for a first request that gets no response.
type noResponse struct {
	address string
	cause   error
}

// Error implements error.
func (n *noResponse) Error() string {
	return "no response from " + n.address + ": " + networkReason(n.cause)
}

// Unwrap returns the network error.
func (n *noResponse) Unwrap() error { return n.cause }

// networkReason returns the reason why there is no response, without data that differs between attempts, such as ports.
func networkReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return "the certificate is not trusted (" + untrusted.Err.Error() +
			"), so the headers were not sent: specify its certificate authority with --ca-file"
	case errors.As(err, &dns) && dns.IsTimeout:
		return "DNS does not respond"
	case errors.As(err, &dns):
		return "lookup " + dns.Name + ": " + dns.Err
	case errors.As(err, &op) && errors.Is(err, wire.ErrHandshake):
		return wire.ErrHandshake.Error() + ": " + op.Err.Error()
	case errors.As(err, &op) && strings.Contains(op.Err.Error(), "certificate required"):
		return op.Err.Error() + ": use --cert"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// stranger returns the error for a response that does not come from the Echo. It names what the response is a sign of.
func stranger(c *wire.Client, a *wire.Response) error {
	what := choose(c.Echo == (proof.Echo{}), "an Echo", fmt.Sprintf("the Echo %s/%s", c.Echo.Namespace, c.Echo.Name))
	if a.RejectedByEcho() {
		return fmt.Errorf("the Echo rejects the first request with %d: the given headers are too long", a.Status)
	}
	return fmt.Errorf("the response with status %d does not prove that it comes from %s, so nothing more was sent; %s", a.Status, what,
		Cut(Printable(signOf(a)), maxText))
}

// signOf returns what a response that does not come from the Echo is a sign of.
func signOf(a *wire.Response) string {
	location, wait, page := a.Header.Get("Location"), a.Header.Get("Retry-After"), bytes.ToLower(a.Body)
	if wait != "" {
		wait = " (Retry-After: " + wait + ")"
	}
	isLogin := a.Header.Get("WWW-Authenticate") != "" || bytes.Contains(page, []byte(`type="password"`))
	switch {
	case location != "":
		return "it redirects to " + verdict.Public(location) + ": check that URL, or use --header-file if it is a login page"
	case a.AsksForCertificate && a.Status/100 == 4:
		return "the server requests a client certificate: use --cert"
	case a.Status == http.StatusTooManyRequests:
		return "a rate limit refuses requests" + wait
	case isLogin, a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return "if the path requires a login, an API key, or a client certificate, use --header-file or --cert"
	case a.Status == http.StatusServiceUnavailable && wait != "", bytes.Contains(page, []byte("maintenance")):
		return "it looks like a maintenance page" + wait
	case a.Status == http.StatusBadGateway, a.Status == http.StatusServiceUnavailable, a.Status == http.StatusGatewayTimeout:
		return "a proxy reaches no server: is the Echo ready, and is it the proxy's backend?"
	case a.Header.Get("Age") != "" && a.Header.Get("Age") != "0", a.Header.Get(proof.ResponseHeader) != "":
		return "it is a response from a cache, or from another Echo"
	case a.Status == http.StatusNotFound:
		return "no route leads to the Echo: check the host and the path of the URL"
	}
	return fmt.Sprintf("the URL leads elsewhere, the image is not the operator's echo server or is an older one, "+
		"or a proxy drops the headers %s or %s", proof.RequestHeader, proof.ResponseHeader)
}
