package describe

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/echoserver/transport"
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
		Forwarded: parseForwarded(r.Header["Forwarded"]), Certificate: describeCertificate(transport.TLSStateOf(r))}
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

// Identity describes the server's pod and node. Its values come from environment variables that the operator sets. The response includes no
// other environment variables.
type Identity struct {
	Namespace string `json:"namespace,omitempty"`
	Ingress   string `json:"ingress,omitempty"`
	Service   string `json:"service,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// The response includes these fields in the "server" group.
	Node   string            `json:"-"`
	PodIP  string            `json:"-"`
	HostIP string            `json:"-"`
	Info   map[string]string `json:"-"`
}

// InfoPrefix is the prefix of the environment variables that the response includes: ECHO_INFO_COLOR=blue becomes COLOR: blue.
const InfoPrefix = "ECHO_INFO_"

// Identify returns the identity that the environment variables describe.
func Identify(env map[string]string) Identity {
	i := Identity{
		Namespace: env["POD_NAMESPACE"],
		Ingress:   env["INGRESS_NAME"],
		Service:   env["SERVICE_NAME"],
		Pod:       env["POD_NAME"],
		Node:      env["NODE_NAME"],
		PodIP:     env["POD_IP"],
		HostIP:    env["HOST_IP"],
		Info:      map[string]string{},
	}
	for name, value := range env {
		if short, ok := strings.CutPrefix(name, InfoPrefix); ok {
			i.Info[short] = value
		}
	}
	return i
}

// hideIdentity removes the fields that identify the server: namespace, ingress, service, pod, node, addresses, version, and uptime.
func (a *Response) hideIdentity() {
	a.Identity = Identity{}
	a.Server = Server{Draining: a.Server.Draining, Info: a.Server.Info}
}

// hideProxies removes the remote address and, unless a trusted proxy reports it, the client's address. Both can belong to a proxy in the
// cluster.
func (c *Client) hideProxies(trusted []netip.Prefix) {
	remote, _ := parseNode(c.Remote)
	address, ok := parseNode(c.Address)
	if !ok || address == remote || isTrusted(address, trusted) {
		c.Address = ""
	}
	c.Remote = ""
}

// ParseTrustedProxies parses addresses and CIDRs, separated by commas. If the list is empty, no proxy is trusted.
func ParseTrustedProxies(text string) ([]netip.Prefix, error) {
	var trusted []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := parsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or a CIDR such as 10.0.0.0/8", part)
		}
		trusted = append(trusted, prefix)
	}
	return trusted, nil
}

// mappedBits is the length, in bits, of the prefix that all IPv4-mapped addresses share.
const mappedBits = 96

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return parseCIDR(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return address.Unmap().Prefix(address.Unmap().BitLen())
}

// parseCIDR parses a CIDR. An IPv4-mapped CIDR becomes an IPv4 CIDR, because mapped addresses are compared as IPv4.
func parseCIDR(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4In6() {
		return prefix, err
	}
	return prefix.Addr().Unmap().Prefix(prefix.Bits() - mappedBits)
}
