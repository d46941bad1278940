package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Known holds the properties of the Echo that the first requests have revealed.
type Known struct {
	Plain    *wire.Response // the response to a plain request
	Base     string         // the Echo's path as the Echo receives it
	Controls bool           // whether requests can control responses
	Full     bool           // whether requests can use all controls

	uncontrolled string // the reason why requests cannot control responses; empty if there is none or it is unknown
}

// PlainPath is the path of a plain request, relative to the Echo's path.
const PlainPath = "/pathcheck"

// Nothing is the requirement of a group that can always be tested.
func Nothing(*Known) string { return "" }

// Descriptions is the requirement of a group that needs responses to describe requests. It returns the reason why the group cannot be
// tested, or "".
func Descriptions(k *Known) string {
	a := k.Plain
	switch coding := a.Header.Get("Content-Encoding"); {
	case a.Description != nil:
		return ""
	case a.Size == 0:
		return fmt.Sprintf("the Echo's responses have no body (status %d)", a.Status)
	case coding != "":
		return "the Echo's responses arrive with Content-Encoding: " + Cut(Printable(coding), maxText)
	}
	return fmt.Sprintf("the Echo's responses do not describe requests: they have a fixed body (spec.response.body), "+
		"or a proxy changes them (%d bytes, Content-Type: %s)", a.Size, Cut(Printable(a.Header.Get("Content-Type")), maxText))
}

// Controls is the requirement of a group that must control responses. It returns the reason why the group cannot be tested, or "".
func Controls(k *Known) string { return k.uncontrolled }

// Meet sends the first requests, which reveal the Echo's properties. It sends only one unless the response proves that it comes from the
// Echo.
func Meet(ctx context.Context, c *wire.Client) (*Known, error) {
	a, err := c.Do(ctx, &wire.Request{Path: PlainPath})
	switch {
	case err != nil:
		return nil, &noResponse{c.Dial, err}
	case !a.Proven:
		return nil, stranger(c, a)
	}
	c.Dial = a.Remote // other addresses from DNS might not lead to the Echo
	k := &Known{Plain: a}
	if a.Description != nil {
		k.Base = strings.TrimSuffix(a.Description.PathOnly(), PlainPath)
		for _, each := range c.Headers { // these headers come from this program, not from the path
			delete(a.Description.Headers, http.CanonicalHeaderKey(each.Name))
		}
	}
	k.findControls(ctx, c)
	return k, nil
}

// findControls determines whether requests can control responses.
func (k *Known) findControls(ctx context.Context, c *wire.Client) {
	const controls = PlainPath + "?echo.size=1&echo.status=200" // the Echo's own status may not allow a body
	controlled, err := c.Do(ctx, &wire.Request{Path: controls})
	if err != nil || !controlled.Proven {
		controlled, err = c.Do(ctx, &wire.Request{Path: controls}) // the failure may be transient
	}
	if over(ctx, err) != nil {
		return // the groups report this
	}
	k.uncontrolled = k.whyNotControlled(controlled, err)
	if k.Controls = k.uncontrolled == ""; k.Controls {
		const name = "Pathcheck-Full" // a request can set this header only with spec.server.controls: Full
		full, err := c.Do(ctx, &wire.Request{Path: PlainPath + "?echo.set-header=" + name + ":1"})
		k.Full = err == nil && full.Proven && full.Header.Get(name) != ""
	}
}

// whyNotControlled returns the reason why a request for a body of one byte did not control the response, or "" if it did. A proxy may have
// removed one of the two signs.
func (k *Known) whyNotControlled(a *wire.Response, err error) string {
	const notForwarded = "a proxy does not forward requests with controls: "
	switch {
	case err != nil:
		return notForwarded + describeRefusal(wire.RefusalOf(err))
	case !a.Proven:
		return notForwarded + describeRefusal(a.Refusal())
	case a.Cached:
		return notForwarded + describeRefusal(refusedByCache)
	case slices.Contains(strings.Split(a.Header.Get("X-Echo-Applied"), ", "), "size=1"), a.Size == 1 && k.Plain.Size != 1:
		return ""
	case a.Description == nil:
		return fmt.Sprintf("requests cannot control the Echo's responses (status %d), because of spec.server.controls: None or a proxy", a.Status)
	case !strings.Contains(a.Description.Path, "echo.size=1"):
		return "a proxy removes controls from the query"
	}
	return "requests cannot control the Echo's responses (spec.server.controls: None)"
}

// serverFailure is the error text for SERVFAIL, which package net does not export.
const serverFailure = "server misbehaving"

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
// response from a server, but not as a response from a resolver. An address is also silent if packets have no route to it or may not reach
// it.
func silentPart(err error) verdict.Silence {
	var dns *net.DNSError
	var op *net.OpError
	unreachable := []syscall.Errno{syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM}
	switch {
	case errors.As(err, &dns):
		if dns.Temporary() && dns.Err != serverFailure {
			return verdict.SilentResolver
		}
	case errors.As(err, &op) && op.Op == "dial" &&
		(op.Timeout() || slices.ContainsFunc(unreachable, func(code syscall.Errno) bool { return errors.Is(op, code) })):
		return verdict.SilentURL
	}
	return ""
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
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// stranger returns the error for a response that does not come from the Echo.
func stranger(c *wire.Client, a *wire.Response) error {
	what := "an Echo"
	if c.Echo != (proof.Echo{}) {
		what = fmt.Sprintf("the Echo %s/%s", c.Echo.Namespace, c.Echo.Name)
	}
	text := fmt.Sprintf("the response with status %d does not prove that it comes from %s, so nothing more was sent", a.Status, what)
	if location := a.Header.Get("Location"); location != "" {
		return fmt.Errorf("%s; it redirects to %s: check that URL, or use --header-file if it is a login page", text,
			Cut(Printable(location), maxText))
	}
	if a.RejectedByEcho() {
		return fmt.Errorf("the Echo rejects the first request with %d: the given headers are too long", a.Status)
	}
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden {
		return fmt.Errorf("%s: if the path requires a login, an API key, or a client certificate, use --header-file or --cert", text)
	}
	return fmt.Errorf("%s: the URL leads elsewhere, the image is not the operator's echo server or is an older one, "+
		"or a proxy drops the headers %s or %s",
		text, proof.RequestHeader, proof.ResponseHeader)
}
