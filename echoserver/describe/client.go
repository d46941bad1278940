package describe

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/echo-operator/echo-operator/echoserver/tlsserver"
)

// Client describes the client that sent a request.
type Client struct {
	// Remote is the remote address of the connection: the address of the client or the last proxy.
	Remote string `json:"remoteAddress,omitempty"`
	// Address is the client's address according to the trusted proxies. It is empty if a trusted proxy hides this address.
	Address string `json:"address,omitempty"`
	// ForwardedFor and Forwarded contain the entries of the parsed headers, starting with the client. Clients can spoof both headers.
	ForwardedFor []string        `json:"forwardedFor,omitempty"`
	Forwarded    []ForwardedPair `json:"forwarded,omitempty"`
	// Certificate is the certificate that the client presented.
	Certificate *Certificate `json:"certificate,omitempty"`
}

func describeClient(r *http.Request, trusted []netip.Prefix) Client {
	c := Client{Remote: r.RemoteAddr, ForwardedFor: parseForwardedFor(r.Header["X-Forwarded-For"]),
		Forwarded: parseForwarded(r.Header["Forwarded"]), Certificate: describeCertificate(tlsserver.State(r))}
	c.Address = firstUntrusted(c.Remote, c.chain(), trusted)
	return c
}

// ClientAddress returns the address of a request's client, or "" if it is not known.
func ClientAddress(r *http.Request, trusted []netip.Prefix) string {
	return describeClient(r, trusted).Address
}

// hideRedacted removes the parsed copies of redacted headers.
func (c *Client) hideRedacted(r *Redaction) {
	if r.Adds("X-Forwarded-For") {
		c.ForwardedFor = nil
	}
	if r.Adds("Forwarded") {
		c.Forwarded = nil
	}
}

// chain returns the addresses that the proxies report, starting with the client. X-Forwarded-For takes precedence, because proxies that set
// only X-Forwarded-For forward a spoofed Forwarded header. Proxies that set Forwarded nearly always set both headers.
func (c *Client) chain() []string {
	if len(c.ForwardedFor) > 0 {
		return c.ForwardedFor
	}
	chain := make([]string, len(c.Forwarded))
	for i, pair := range c.Forwarded {
		chain[i] = pair.For
	}
	return chain
}

// firstUntrusted returns the first address in the chain, starting at the connection, that is not a trusted proxy. It returns "" if a
// trusted proxy reports something other than an address, such as "unknown" (RFC 7239, 6.2).
func firstUntrusted(remote string, chain []string, trusted []netip.Prefix) string {
	address, ok := parseNode(remote)
	for i := len(chain) - 1; i >= 0 && ok && isTrusted(address, trusted); i-- {
		address, ok = parseNode(chain[i])
	}
	if !ok {
		return ""
	}
	return address.String()
}

func isTrusted(address netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(address) })
}
