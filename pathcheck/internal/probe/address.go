package probe

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// maxOthers is the maximum number of tested headers that are not in the table, and maxName is the maximum length of their names.
const maxOthers, maxName = 4, 64

// addressHeader is a header in which proxies report the client's address.
type addressHeader struct {
	name string
	fact string // reports whether a client can choose the address in the header
}

// addressHeaders returns the table of address headers, roughly in the order in which applications read them.
func addressHeaders() []addressHeader {
	return []addressHeader{
		{"X-Forwarded-For", "client.spoofable"},
		{"Forwarded", "client.spoofable.forwarded"},
		{"X-Real-Ip", "client.spoofable.realIP"},
		{"X-Client-Ip", "client.spoofable.clientIP"},
		{"True-Client-Ip", "client.spoofable.trueClientIP"},         // Akamai, Cloudflare
		{"Cf-Connecting-Ip", "client.spoofable.cfConnectingIP"},     // Cloudflare
		{"Cf-Connecting-Ipv6", "client.spoofable.cfConnectingIPv6"}, // Cloudflare
		{"X-Envoy-External-Address", "client.spoofable.envoyExternalAddress"},
		{"X-Original-Forwarded-For", "client.spoofable.originalForwardedFor"}, // ingress-nginx
		{"X-Cluster-Client-Ip", "client.spoofable.clusterClientIP"},           // Rackspace, Riverbed
		{"Fastly-Client-Ip", "client.spoofable.fastlyClientIP"},
		{"Fly-Client-Ip", "client.spoofable.flyClientIP"},
		{"X-Azure-Clientip", "client.spoofable.azureClientIP"},
		{"X-Azure-Socketip", "client.spoofable.azureSocketIP"},
		{"X-Appengine-User-Ip", "client.spoofable.appengineUserIP"}, // Google
		{"Cloudfront-Viewer-Address", "client.spoofable.cloudfrontViewerAddress"},
		{"Do-Connecting-Ip", "client.spoofable.doConnectingIP"},    // DigitalOcean
		{"Wl-Proxy-Client-Ip", "client.spoofable.wlProxyClientIP"}, // WebLogic
	}
}

// decideAddress determines whether the client's address arrives, and how.
func decideAddress(local netip.Addr, e *wire.Description) []Fact {
	sent := local.String()
	facts := func(value, by, received string) []Fact {
		return []Fact{
			NewFact("client.address", value, sent, received),
			NewFact("client.address.by", by, sent, received),
		}
	}
	if e.Peer() == local {
		return facts(Kept, "connection", "a connection from "+sent)
	}
	var by string
	var headers []string
	for _, name := range slices.Concat(namesOf(addressHeaders()), otherHeaders(local, e)) {
		addresses := reportedAddresses(name, e)
		text := name + ": " + strings.Join(e.Values(name), "; ")
		switch {
		case slices.Contains(addresses, local):
			return facts(Kept, name, text)
		case len(addresses) > 0:
			by = cmp.Or(by, name)
		}
		if e.Has(name) {
			headers = append(headers, text)
		}
	}
	received := "a connection from " + e.Peer().String()
	if !e.Peer().IsValid() {
		received = "a connection whose address the Echo does not report"
	}
	received = strings.Join(append(headers, received), "; ")
	switch {
	case by != "":
		return facts("replaced", by, received)
	case !e.Peer().IsValid() && len(headers) == 0: // the client may be the peer
		return facts("not reported", "not reported", received)
	}
	return facts("lost", None, received)
}

func namesOf(headers []addressHeader) (names []string) {
	for _, each := range headers {
		names = append(names, each.name)
	}
	return names
}

// otherHeaders returns headers that are not in the table but report the client's address, because gateways can be configured to use any
// header.
func otherHeaders(local netip.Addr, e *wire.Description) (names []string) {
	known := namesOf(addressHeaders())
	for name := range e.Headers {
		if isOfClients(name) && !slices.Contains(known, name) && slices.Contains(reportedAddresses(name, e), local) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxOthers)]
}

// isOfClients reports whether a header can describe a client. It excludes names that pathcheck cannot send, and headers that describe
// servers but can contain the client's address.
func isOfClients(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && len(name) <= maxName && !isHop(name) && !strings.HasPrefix(name, "Content-") &&
		!strings.Contains(name, "Host") && !strings.Contains(name, "Server")
}

// reportedAddresses returns the client addresses in a header. It omits unknown and obfuscated addresses (RFC 7239, 6.2 and 6.3).
func reportedAddresses(header string, e *wire.Description) (addresses []netip.Addr) {
	for _, each := range e.Reported(header, "for") {
		addresses = append(addresses, addressesIn(each)...)
	}
	return addresses
}

// addressesIn returns the addresses in an element of a header.
func addressesIn(element string) (addresses []netip.Addr) {
	for part := range strings.FieldsFuncSeq(element, func(r rune) bool { return strings.ContainsRune(" ;=\"", r) }) {
		addresses = append(addresses, parseAddress(part)...)
	}
	return addresses
}

// parseAddress parses an address with an optional port. CloudFront omits the brackets around an IPv6 address with a port. Such text is
// ambiguous, so the result can be two addresses.
func parseAddress(text string) (addresses []netip.Addr) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return []netip.Addr{at.Addr().Unmap().WithZone("")}
	}
	if at, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		addresses = append(addresses, at.Unmap().WithZone(""))
	}
	if end := strings.LastIndex(text, ":"); end > 0 {
		if at, err := netip.ParseAddr(text[:end]); err == nil && at.Is6() {
			addresses = append(addresses, at.Unmap())
		}
	}
	return addresses
}
