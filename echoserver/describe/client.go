package describe

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

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
	// X-Forwarded-For takes precedence, because proxies that set only X-Forwarded-For forward a spoofed Forwarded header. Proxies that set
	// Forwarded nearly always set both headers.
	chain := c.ForwardedFor
	if len(chain) == 0 {
		for _, pair := range c.Forwarded {
			chain = append(chain, pair.For)
		}
	}
	c.Address = firstUntrusted(c.Remote, chain, trusted)
	return c
}

// ClientAddress returns the address of a request's client, or "" if it is not known.
func (d *Describer) ClientAddress(r *http.Request) string {
	return describeClient(r, d.TrustedProxies).Address
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

// parsePrefix parses an address or a CIDR. An IPv4-mapped CIDR becomes an IPv4 CIDR, because mapped addresses are compared as IPv4.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		return address.Unmap().Prefix(address.Unmap().BitLen())
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4In6() {
		return prefix, err
	}
	return prefix.Addr().Unmap().Prefix(prefix.Bits() - 96) // the length of the prefix that all IPv4-mapped addresses share
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

// infoPrefix is the prefix of the environment variables that the response includes: ECHO_INFO_COLOR=blue becomes COLOR: blue.
const infoPrefix = "ECHO_INFO_"

// Identify returns the identity that the environment variables describe.
func Identify(env map[string]string) Identity {
	i := Identity{Info: map[string]string{}}
	for name, value := range env {
		if short, ok := strings.CutPrefix(name, infoPrefix); ok {
			i.Info[short] = value
		} else if field := i.field(name); field != nil {
			*field = value
		}
	}
	return i
}

// IsIdentity reports whether an environment variable is part of the identity.
func IsIdentity(name string) bool {
	return strings.HasPrefix(name, infoPrefix) || new(Identity).field(name) != nil
}

// field returns the field that an environment variable sets, or nil if there is none.
func (i *Identity) field(variable string) *string {
	return map[string]*string{
		"ECHO_POD_NAMESPACE": &i.Namespace,
		"ECHO_INGRESS_NAME":  &i.Ingress,
		"ECHO_SERVICE_NAME":  &i.Service,
		"ECHO_POD_NAME":      &i.Pod,
		"ECHO_NODE_NAME":     &i.Node,
		"ECHO_POD_IP":        &i.PodIP,
		"ECHO_HOST_IP":       &i.HostIP,
	}[variable]
}

// TLS describes the TLS connection of a request, in the same format as the Gateway API conformance suite's echo server.
type TLS struct {
	Version            string   `json:"version"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"` // PEM
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
}

// Certificate describes the certificate that a client presented.
type Certificate struct {
	Subject          string    `json:"subject"`
	Issuer           string    `json:"issuer"`
	NotBefore        time.Time `json:"notBefore"`
	NotAfter         time.Time `json:"notAfter"`
	AlternativeNames []string  `json:"subjectAlternativeNames,omitempty"`
	SHA256           string    `json:"sha256"`
	Verified         bool      `json:"verified"` // against ca.crt
}

// DescribeTLS returns the description of a TLS state, or nil if the state is nil.
func DescribeTLS(state *tls.ConnectionState) *TLS {
	if state == nil {
		return nil
	}
	a := &TLS{Version: strings.Replace(tls.VersionName(state.Version), "TLS ", "TLSv", 1), ServerName: state.ServerName,
		NegotiatedProtocol: state.NegotiatedProtocol, CipherSuite: tls.CipherSuiteName(state.CipherSuite)}
	for _, each := range state.PeerCertificates {
		a.PeerCertificates = append(a.PeerCertificates, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: each.Raw})))
	}
	return a
}

// describeCertificate describes the client's certificate, with the types of the alternative names in the form that OpenSSL uses. It returns
// nil if the client presented no certificate.
func describeCertificate(state *tls.ConnectionState) *Certificate {
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	names := slices.Concat(named("DNS", leaf.DNSNames), named("IP", leaf.IPAddresses), named("URI", leaf.URIs),
		named("email", leaf.EmailAddresses))
	digest := sha256.Sum256(leaf.Raw)
	return &Certificate{Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		AlternativeNames: names, SHA256: hex.EncodeToString(digest[:]), Verified: len(state.VerifiedChains) > 0}
}

func named[T any](kind string, values []T) (names []string) {
	for _, each := range values {
		names = append(names, fmt.Sprintf("%s:%v", kind, each))
	}
	return names
}

// printable returns text from a client, quoted if a character needs an escape.
func printable(text string) string {
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

// Trace is a request's parsed traceparent header (W3C Trace Context, 3.2).
type Trace struct {
	Version  string `json:"version"`
	TraceID  string `json:"traceId"`
	ParentID string `json:"parentId"`
	Sampled  bool   `json:"sampled"`
}

// parseTraceparent parses a traceparent header. As the standard requires, it returns nil unless there is exactly one valid value.
func parseTraceparent(values []string) *Trace {
	if len(values) != 1 {
		return nil
	}
	parts := strings.SplitN(values[0], "-", 5)
	if len(parts) < 4 || len(parts) > 4 && parts[0] == "00" { // later versions may have more parts
		return nil
	}
	for i, digits := range []int{2, 32, 16, 2} {
		if len(parts[i]) != digits || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return nil
		}
	}
	zero := func(id string) bool { return strings.Trim(id, "0") == "" }
	if parts[0] == "ff" || zero(parts[1]) || zero(parts[2]) {
		return nil
	}
	flags, _ := hex.DecodeString(parts[3]) // never fails, because the digits have been checked
	return &Trace{Version: parts[0], TraceID: parts[1], ParentID: parts[2], Sampled: flags[0]&1 != 0}
}
