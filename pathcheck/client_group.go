package pathcheck

import (
	"context"
	"net/netip"
	"strings"
)

// forged is an address that nobody has (RFC 5737).
const forged = "192.0.2.123"

// examineClient examines who a client seems to be behind the way.
func examineClient(ctx context.Context, g *group) error {
	return g.each(ctx, examineAddress, examineForgery, examineStripping, examineTracing)
}

func examineAddress(_ context.Context, g *group) error {
	g.add(decideAddress(g.known.plain.local.Addr(), g.known.plain.echo)...)
	g.add(decideScheme(g.scheme, g.known.plain.echo))
	return nil
}

// addressHeaders are the headers by which a way tells the address of the client.
func addressHeaders() []string {
	return []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Envoy-External-Address"}
}

// decideAddress tells whether the address of the client arrives, and how.
func decideAddress(local netip.Addr, e *echo) []Fact {
	sent := local.String()
	facts := func(value, by, received string) []Fact {
		return []Fact{
			newFact("client.address", value, sent, received, "whether the address from which this program sends arrives, as that of the connection or in a header"),
			newFact("client.address.by", by, sent, received, "what tells the application the address of the client"),
		}
	}
	if e.peer() == local {
		return facts(kept, "connection", "a connection from "+sent)
	}
	var headers []string
	for _, each := range addressHeaders() {
		for _, value := range e.values(each) {
			headers = append(headers, each+": "+value)
			if mentions(value, local) {
				return facts(kept, each, each+": "+value)
			}
		}
	}
	received := "a connection from " + e.peer().String()
	if !e.peer().IsValid() {
		received = "a connection of which the Echo does not tell the address"
	}
	return facts("lost", none, strings.Join(append(headers, received), "; "))
}

// mentions reports whether a list of addresses has one.
func mentions(list string, address netip.Addr) bool {
	for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(", ;=\"", r) }) {
		if at, err := netip.ParseAddrPort(part); err == nil && at.Addr().Unmap() == address {
			return true
		}
		if at, err := netip.ParseAddr(strings.Trim(part, "[]")); err == nil && at.Unmap() == address {
			return true
		}
	}
	return false
}

func decideScheme(scheme string, e *echo) Fact {
	const name, meaning = "client.proto", "whether the way tells the scheme of the URL (X-Forwarded-Proto, Forwarded), by which applications make links and cookies"
	text := strings.Join(append(e.values("X-Forwarded-Proto"), e.values("Forwarded")...), "; ")
	switch {
	case text == "":
		return newFact(name, "not told", scheme, "", meaning)
	case strings.Join(e.values("X-Forwarded-Proto"), "") == scheme, placeOf(parseForwarded(e.values("Forwarded")), "proto", scheme) >= 0:
		return newFact(name, "told", scheme, text, meaning)
	}
	return newFact(name, "wrong", scheme, text, meaning)
}

// forgery is a header that a client could set as if it were a proxy.
type forgery struct {
	fact, meaning string
	sent          field
}

func forgeries() []forgery {
	const host = "forged.example"
	return []forgery{
		{"client.forgeable", "whether a client can choose the address in X-Forwarded-For; in front means that the real one follows it", field{"X-Forwarded-For", forged}},
		{"client.forgeable.forwarded", "the same for the header Forwarded", field{"Forwarded", "for=" + forged}},
		{"client.forgeable.realIP", "the same for X-Real-IP", field{"X-Real-Ip", forged}},
		{"client.forgeable.host", "whether a client can choose the host in X-Forwarded-Host", field{"X-Forwarded-Host", host}},
		{"client.forgeable.proto", "whether a client can choose the scheme in X-Forwarded-Proto", field{"X-Forwarded-Proto", "forged"}},
	}
}

func examineForgery(ctx context.Context, g *group) error {
	all := forgeries()
	fields := make([]field, len(all))
	for i := range all {
		fields[i] = all[i].sent
	}
	o, err := g.ask(ctx, &request{path: plainPath, fields: fields})
	if err != nil {
		return err
	}
	for _, each := range all {
		f := decideForgery(each, o)
		f.Detail = each.sent.name == "X-Real-Ip" // few applications read it
		g.add(f)
	}
	return nil
}

// decideForgery tells whether a forged value arrives, and whether something follows it.
func decideForgery(f forgery, o outcome) Fact {
	e := o.echoed()
	if e == nil {
		return refusedFact(f.fact, f.sent.String(), o.refusal, f.meaning)
	}
	received := strings.Join(e.values(f.sent.name), ", ")
	value := no
	if f.sent.name == "Forwarded" {
		elements := parseForwarded(e.values(f.sent.name))
		switch placeOf(elements, "for", forged) {
		case -1:
		case len(elements) - 1:
			value = yes
		default:
			value = "in front"
		}
	} else if _, rest, found := strings.Cut(received, f.sent.value); found {
		value = yes
		if strings.Trim(rest, " ") != "" {
			value = "in front"
		}
	}
	return newFact(f.fact, value, f.sent.String(), f.sent.name+": "+received, f.meaning)
}

// examineStripping declares what the way adds as a matter of the connection, which a proxy removes.
func examineStripping(ctx context.Context, g *group) error {
	var added []string
	for _, each := range append(addressHeaders(), "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id") {
		if g.known.plain.echo.has(each) {
			added = append(added, each)
		}
	}
	if len(added) == 0 {
		g.add(decideStripping(nil, outcome{}))
		return nil
	}
	return g.examine(ctx, &request{path: plainPath, fields: []field{{"Connection", "close, " + strings.Join(added, ", ")}}},
		func(o outcome) Fact { return decideStripping(added, o) })
}

func decideStripping(added []string, o outcome) Fact {
	const name, meaning = "client.strippable", "whether a client can have the headers removed that the way adds, by naming them in Connection"
	if len(added) == 0 {
		return newFact(name, none, "", "", meaning+"; the way adds none of them")
	}
	sent := "Connection: " + strings.Join(added, ", ")
	e := o.echoed()
	if e == nil {
		return refusedFact(name, sent, o.refusal, meaning)
	}
	var stripped []string
	for _, each := range added {
		if !e.has(each) {
			stripped = append(stripped, each)
		}
	}
	if len(stripped) == 0 {
		return newFact(name, no, sent, "all", meaning)
	}
	return newFact(name, yes, sent, "without "+strings.Join(stripped, ", "), meaning)
}

// identifier is a header by which logs and traces of a request are found.
type identifier struct {
	fact, meaning string
	sent          field
	part          string // which must remain
}

func identifiers() []identifier {
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	return []identifier{
		{"client.requestID", "whether the X-Request-Id of a client is kept, and whether the way makes one for a request without", field{"X-Request-Id", "pathcheck-1"}, "pathcheck-1"},
		{"client.traceparent", "whether the trace of a client goes on, and whether the way begins one for a request without",
			field{"Traceparent", "00-" + traceID + "-00f067aa0ba902b7-01"}, traceID},
	}
}

func examineTracing(ctx context.Context, g *group) error {
	for _, each := range identifiers() {
		err := g.examine(ctx, &request{path: plainPath, fields: []field{each.sent}},
			func(o outcome) Fact { return decideIdentifier(each, g.known.plain.echo, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// decideIdentifier compares a request with the identifier and one without.
func decideIdentifier(i identifier, without *echo, o outcome) Fact {
	e := o.echoed()
	if e == nil {
		return refusedFact(i.fact, i.sent.String(), o.refusal, i.meaning)
	}
	received, made := strings.Join(e.values(i.sent.name), ", "), without.has(i.sent.name)
	value := kept
	switch {
	case received == "":
		value = dropped
	case !strings.Contains(received, i.part):
		value = "replaced"
	}
	if made {
		value += ", else made"
	}
	return newFact(i.fact, value, i.sent.String(), i.sent.name+": "+received, i.meaning)
}
