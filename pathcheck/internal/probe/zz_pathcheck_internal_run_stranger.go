package probe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/echo-operator/echo-operator/internal/proof"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

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
			Cut(Printable(location), MaxText))
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
