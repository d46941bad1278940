package probe

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// addressHeader is a header in which proxies report the client's address.
type addressHeader struct {
	name  string
	fact  string // reports whether a client can choose the address in the header
	shown string // the name as its documentation spells it, and the products that use it
}

// addressHeaders returns the table of address headers, roughly in the order in which applications read them.
func addressHeaders() []addressHeader {
	return []addressHeader{
		{"X-Forwarded-For", "client.spoofable", "X-Forwarded-For"},
		{"Forwarded", "client.spoofable.forwarded", "Forwarded"},
		{"X-Real-Ip", "client.spoofable.realIP", "X-Real-IP"},
		{"X-Client-Ip", "client.spoofable.clientIP", "X-Client-IP"},
		{"True-Client-Ip", "client.spoofable.trueClientIP", "True-Client-IP (Akamai, Cloudflare)"},
		{"Cf-Connecting-Ip", "client.spoofable.cfConnectingIP", "CF-Connecting-IP (Cloudflare)"},
		{"Cf-Connecting-Ipv6", "client.spoofable.cfConnectingIPv6", "CF-Connecting-IPv6 (Cloudflare)"},
		{"X-Envoy-External-Address", "client.spoofable.envoyExternalAddress", "X-Envoy-External-Address"},
		{"X-Original-Forwarded-For", "client.spoofable.originalForwardedFor", "X-Original-Forwarded-For (ingress-nginx)"},
		{"X-Cluster-Client-Ip", "client.spoofable.clusterClientIP", "X-Cluster-Client-IP"}, // Rackspace, Riverbed
		{"Fastly-Client-Ip", "client.spoofable.fastlyClientIP", "Fastly-Client-IP"},
		{"Fly-Client-Ip", "client.spoofable.flyClientIP", "Fly-Client-IP"},
		{"X-Azure-Clientip", "client.spoofable.azureClientIP", "X-Azure-ClientIP"},
		{"X-Azure-Socketip", "client.spoofable.azureSocketIP", "X-Azure-SocketIP"},
		{"X-Appengine-User-Ip", "client.spoofable.appengineUserIP", "X-Appengine-User-IP (Google)"},
		{"Cloudfront-Viewer-Address", "client.spoofable.cloudfrontViewerAddress", "CloudFront-Viewer-Address"},
		{"Do-Connecting-Ip", "client.spoofable.doConnectingIP", "DO-Connecting-IP (DigitalOcean)"},
		{"Wl-Proxy-Client-Ip", "client.spoofable.wlProxyClientIP", "WL-Proxy-Client-IP (WebLogic)"},
	}
}

func addressHeaderNames() (names []string) {
	for _, each := range addressHeaders() {
		names = append(names, each.name)
	}
	return names
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
	for _, name := range slices.Concat(addressHeaderNames(), otherHeaders(local, e)) {
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

// maxOthers is the maximum number of tested headers that are not in the table, and maxName is the maximum length of their names.
const maxOthers, maxName = 4, 64

// otherHeaders returns headers that are not in the table but report the client's address, because gateways can be configured to use any
// header. It excludes names that pathcheck cannot send, and headers that describe servers but can contain the client's address.
func otherHeaders(local netip.Addr, e *wire.Description) (names []string) {
	known := addressHeaderNames()
	for name := range e.Headers {
		canDescribeClient := httpguts.ValidHeaderFieldName(name) && len(name) <= maxName && !isHop(name) &&
			!strings.HasPrefix(name, "Content-") && !strings.Contains(name, "Host") && !strings.Contains(name, "Server")
		if canDescribeClient && !slices.Contains(known, name) && slices.Contains(reportedAddresses(name, e), local) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxOthers)]
}

// reportedAddresses returns the client addresses in a header. It omits unknown and obfuscated addresses (RFC 7239, 6.2 and 6.3).
func reportedAddresses(header string, e *wire.Description) (addresses []netip.Addr) {
	for _, each := range e.Reported(header, "for") {
		addresses = append(addresses, addressesIn(each)...)
	}
	return addresses
}

// addressesIn returns the addresses in an element of a header, each with an optional port. CloudFront omits the brackets around an IPv6
// address with a port. Such text is ambiguous, so it can count as two addresses.
func addressesIn(element string) (addresses []netip.Addr) {
	for text := range strings.FieldsFuncSeq(element, func(r rune) bool { return strings.ContainsRune(" ;=\"", r) }) {
		if at, err := netip.ParseAddrPort(text); err == nil {
			addresses = append(addresses, at.Addr().Unmap().WithZone(""))
			continue
		}
		if at, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			addresses = append(addresses, at.Unmap().WithZone(""))
		}
		if end := strings.LastIndex(text, ":"); end > 0 {
			if at, err := netip.ParseAddr(text[:end]); err == nil && at.Is6() {
				addresses = append(addresses, at.Unmap())
			}
		}
	}
	return addresses
}

// spoofed is an address that no client has (RFC 5737). spoofedHost and spoofedScheme are a host and a scheme that no URL has.
const spoofed, spoofedHost, spoofedScheme = "192.0.2.123", "spoofed.example", "spoofed"

// spoofing is a header with which a client could impersonate a proxy.
type spoofing struct {
	fact string
	sent []wire.Field
}

// examineSpoofing sends all spoofed headers at once. If the request is refused, it sends each header alone to find the cause.
func examineSpoofing(ctx context.Context, g *Group) error {
	plain := g.Known.Plain
	all := spoofings(otherHeaders(plain.Local.Addr(), plain.Description))
	var fields []wire.Field
	for _, each := range all {
		fields = append(fields, each.sent...)
	}
	together, err := g.Ask(ctx, &wire.Request{Path: PlainPath, Fields: fields})
	if err != nil {
		return err
	}
	// Most applications read these headers. The others matter only if the path sets them.
	common := []string{"client.spoofable", "client.spoofable.forwarded", "client.spoofable.host", "client.spoofable.proto"}
	isSet := func(f wire.Field) bool { return plain.Description.Has(f.Name) }
	for _, each := range all {
		o := together
		if together.Refusal != "" {
			if o, err = g.Ask(ctx, &wire.Request{Path: PlainPath, Fields: each.sent}); err != nil {
				return err
			}
		}
		f := decideSpoofing(each, o)
		f.Detail = !slices.Contains(common, each.fact) && !slices.ContainsFunc(each.sent, isSet)
		g.Add(f)
	}
	return nil
}

// spoofings returns the headers to test, including the other headers in which this path reports the client's address.
func spoofings(others []string) (all []spoofing) {
	for _, each := range addressHeaders() {
		value := spoofed
		switch each.name {
		case "Forwarded":
			value = "for=" + spoofed
		case "Cloudfront-Viewer-Address":
			value += ":443"
		}
		all = append(all, spoofing{each.fact, wire.Fields(each.name, value)})
	}
	if len(others) > 0 {
		other := spoofing{"client.spoofable.other", nil}
		for _, name := range others {
			other.sent = append(other.sent, wire.Field{Name: name, Value: spoofed})
		}
		all = append(all, other)
	}
	return append(all,
		spoofing{"client.spoofable.host", wire.Fields("X-Forwarded-Host", spoofedHost)},
		spoofing{"client.spoofable.proto", wire.Fields("X-Forwarded-Proto", spoofedScheme)})
}

// decideSpoofing determines whether a spoofed value arrives, and whether another value follows it.
func decideSpoofing(s spoofing, o Outcome) Fact {
	sent := describeFields(s.sent)
	e := o.Described()
	if e == nil {
		return refusedFact(s.fact, sent, o.Refusal)
	}
	value := No
	var received []wire.Field
	for _, each := range s.sent {
		received = append(received, wire.Field{Name: each.Name, Value: strings.Join(e.Values(each.Name), ", ")})
		if value == Yes {
			continue // another of these headers can already be spoofed
		}
		for _, element := range e.Reported(each.Name, "for") {
			switch {
			case element == spoofedHost, element == spoofedScheme, slices.Contains(addressesIn(element), netip.MustParseAddr(spoofed)):
				value = Yes
			case value == Yes:
				value = "in front"
			}
		}
	}
	return NewFact(s.fact, value, sent, describeFields(received))
}

func describeFields(fields []wire.Field) string {
	var texts []string
	for _, each := range fields {
		texts = append(texts, each.String())
	}
	return strings.Join(texts, "; ")
}
