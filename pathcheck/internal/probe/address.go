package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// addressHeaders returns the headers in which proxies report the client's address, as their documentation spells them, roughly in the order
// in which applications read them.
func addressHeaders() []string {
	return []string{"X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Client-IP",
		"True-Client-IP", // Akamai, Cloudflare
		"CF-Connecting-IP", "CF-Connecting-IPv6", "X-Envoy-External-Address",
		"X-Original-Forwarded-For", // ingress-nginx
		"X-Cluster-Client-IP",      // Rackspace, Riverbed
		"Fastly-Client-IP", "Fly-Client-IP", "X-Azure-ClientIP", "X-Azure-SocketIP", "X-Appengine-User-IP", "CloudFront-Viewer-Address",
		"DO-Connecting-IP",   // DigitalOcean
		"WL-Proxy-Client-IP"} // WebLogic
}

// decideAddress determines whether the client's address arrives, and how. If requests go through a forward proxy, the path
// begins at the proxy, and only the proxy knows its address there.
func decideAddress(local netip.Addr, through string, e *wire.Description) []Fact {
	sent := local.String()
	facts := func(value, by, received string) []Fact {
		return []Fact{NewFact("client.address", value, sent, received), NewFact("client.address.by", by, sent, received)}
	}
	unknowns := func(reason string) []Fact {
		return []Fact{unknown("client.address", reason), unknown("client.address.by", reason)}
	}
	switch {
	case through != "":
		return unknowns(through)
	case e.Peer() == local:
		return facts(Kept, "connection", "a connection from "+sent)
	}
	var by, hidden string
	var headers []string
	for _, name := range slices.Concat(addressHeaders(), otherHeaders(local, e)) {
		addresses := reportedAddresses(name, e)
		text := name + ": " + strings.Join(e.Values(name), "; ")
		switch {
		case slices.Contains(addresses, local), isUnchanged(sent, e.Values(name)):
			return facts(Kept, name, text)
		case slices.ContainsFunc(e.Values(name), isRedacted):
			hidden = name
		case len(addresses) > 0:
			by = cmp.Or(by, name)
		}
		if e.Has(name) {
			headers = append(headers, text)
		}
	}
	received := choose(e.Peer().IsValid(), "a connection from "+e.Peer().String(), "a connection whose address the Echo does not report")
	received = strings.Join(append(headers, received), "; ")
	switch {
	case by != "":
		return facts("replaced", by, received)
	case hidden != "":
		return unknowns("the Echo redacts " + hidden)
	case !e.Peer().IsValid() && len(headers) == 0: // the client may be the peer
		return unknowns(received)
	}
	return facts("lost", None, received)
}

// maxOthers is the maximum number of tested headers that are not in the table, and maxName is the maximum length of their names.
const maxOthers, maxName = 4, 64

// otherHeaders returns headers that are not in the table but report the client's address, because gateways can be configured to use any
// header. It excludes names that pathcheck cannot send, and headers that describe servers but can contain the client's address.
func otherHeaders(local netip.Addr, e *wire.Description) (names []string) {
	isKnown := func(name string) bool {
		return slices.ContainsFunc(addressHeaders(), func(known string) bool { return strings.EqualFold(known, name) })
	}
	for name := range e.Headers {
		canDescribeClient := httpguts.ValidHeaderFieldName(name) && len(name) <= maxName && !isHop(name) &&
			!strings.HasPrefix(name, "Content-") && !strings.Contains(name, "Host") && !strings.Contains(name, "Server")
		if canDescribeClient && !isKnown(name) && slices.Contains(reportedAddresses(name, e), local) {
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

// spoofs returns the values with which a client could impersonate a proxy in a header. A proxy may drop some of them: addresses that no
// client has (RFC 5737), or schemes other than http and https.
func spoofs(header, scheme string) [2]string {
	address := [2]string{"192.0.2.123", "8.8.4.4"}
	switch header {
	case "X-Forwarded-Host":
		return [2]string{"spoofed.example", "www.example.com"}
	case "X-Forwarded-Proto":
		return [2]string{"spoofed", map[string]string{"http": "https", "https": "http"}[scheme]}
	case "Forwarded":
		return [2]string{"for=" + address[0], "for=" + address[1]}
	case "CloudFront-Viewer-Address":
		return [2]string{address[0] + ":443", address[1] + ":443"}
	case "CF-Connecting-IPv6":
		return [2]string{"2001:db8::7b", "2001:4860:4860::8844"}
	}
	return address
}

// spoofings returns the fields of the requests that try to spoof headers: with several values, lines, and spellings.
func spoofings(headers []string, scheme string) (all [][]wire.Field) {
	asIs := func(name string) string { return name }
	for _, each := range []struct {
		value, lines int
		spell        func(string) string
	}{{0, 1, asIs}, {1, 1, asIs}, {1, 2, asIs}, {1, 1, strings.ToLower}} {
		var fields []wire.Field
		for _, name := range headers {
			field := wire.Field{Name: each.spell(name), Value: spoofs(name, scheme)[each.value]}
			fields = append(fields, slices.Repeat([]wire.Field{field}, each.lines)...)
		}
		all = append(all, fields)
	}
	return all
}

// spoofingsAlone returns a request for each header.
func spoofingsAlone(headers []string, scheme string) (all [][]wire.Field) {
	for _, name := range headers {
		all = append(all, spoofings([]string{name}, scheme)[1])
	}
	return all
}

// spoofing returns the experiment that determines whether a proxy refuses fields that try to spoof headers.
func spoofing(fields []wire.Field) experiment {
	return experiment{once: true, probe: wire.Request{Path: PlainPath, Fields: fields},
		read:    described(func(*wire.Description) (string, string) { return Kept, "" }),
		refused: func(o Outcome) (string, string) { return "refused " + o.Refusal, describeRefusal(o.Refusal) }}
}

// spoofed is what the tries to spoof a header have shown.
type spoofed struct {
	value, sent, received string
	tries                 int
	refused               string // the value if a proxy refuses the header
	reason                string // why a try showed nothing
}

// add adds a try. The worst value counts: yes, then in front, then not found.
func (s *spoofed) add(name, sent string, plain *wire.Description, r result) {
	e := r.outcome.Described()
	switch {
	case strings.HasPrefix(r.value, "refused"):
		s.refused, s.sent, s.received = r.value, name+": "+sent, r.received
		return
	case e == nil:
		s.reason = r.received
		return
	}
	s.tries++
	value, isKnown := decideSpoofing(name, sent, plain, e)
	switch {
	case !isKnown:
		s.reason = "the Echo redacts " + name
	case s.value == "" || value == Yes || value == inFront && s.value == NotFound:
		s.value, s.sent, s.received = value, name+": "+sent, name+": "+strings.Join(e.Values(name), ", ")
	}
}

const inFront, spoofable = "in front", "client.spoofable"

// examineSpoofing tries to spoof all headers at once. If a request is refused, it tries each header alone.
func examineSpoofing(ctx context.Context, g *Group) error {
	plain := g.Known.Plain
	others := otherHeaders(plain.Local.Addr(), plain.Description)
	headers := slices.Concat(addressHeaders()[:2], []string{"X-Forwarded-Host", "X-Forwarded-Proto"}, addressHeaders()[2:], others)
	ofPath := slices.DeleteFunc(slices.Clone(headers), func(name string) bool { return !plain.Description.Has(name) })
	all := spoofings(headers, g.Scheme)
	tries := slices.Concat(all, spoofingsAlone(ofPath, g.Scheme)) // a proxy that checks some headers may compare them with each other
	results, err := together(ctx, g, tries, spoofing)
	if err == nil && !slices.ContainsFunc(results[:len(all)], func(r result) bool { return r.value == Kept }) {
		tries = spoofingsAlone(headers, g.Scheme)
		results, err = together(ctx, g, tries, spoofing)
	}
	if err != nil {
		return err
	}
	for _, name := range headers {
		var s spoofed
		for i, each := range tries {
			if at := slices.IndexFunc(each, func(f wire.Field) bool { return strings.EqualFold(f.Name, name) }); at >= 0 {
				s.add(name, each[at].Value, plain.Description, results[i])
			}
		}
		fact := spoofable + "[" + name + "]"
		if s.value = cmp.Or(s.value, s.refused); s.value == "" || s.value == NotFound && s.reason != "" {
			g.Unknown(fact, s.reason)
			continue
		}
		f := NewFact(fact, s.value, s.sent, fmt.Sprintf("%s (%d tries)", s.received, s.tries))
		// Most applications read the first headers. The others matter only if the path sets them.
		f.Detail = !slices.Contains(headers[:4], name) && !plain.Description.Has(name)
		g.Add(f)
	}
	return nil
}

// decideSpoofing determines whether a spoofed value, which a plain request does not have, arrives, and whether another value follows it. The
// Echo may redact the header, in which case only a value that arrives alone can be recognized.
func decideSpoofing(name, sent string, plain, e *wire.Description) (value string, isKnown bool) {
	if values := e.Values(name); slices.ContainsFunc(values, isRedacted) {
		return Yes, isUnchanged(sent, values)
	}
	value = NotFound
	want := addressesIn(sent)
	for _, element := range e.Reported(name, "for") {
		isOfPath := slices.Contains(plain.Reported(name, "for"), element)
		hasAddress := slices.ContainsFunc(addressesIn(element), func(a netip.Addr) bool { return slices.Contains(want, a) })
		isSpoofed := !isOfPath && (element == sent || hasAddress)
		switch {
		case isSpoofed:
			value = Yes
		case value == Yes:
			value = inFront
		}
	}
	return value, true
}
