package requests

import (
	"context"
	"net/netip"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// spoofed is an address that no client has (RFC 5737).
const spoofed = "192.0.2.123"

// ExamineClient examines who a client seems to be behind the proxies.
func ExamineClient(ctx context.Context, g *run.Group) error {
	return g.Each(ctx, examineAddress, examineSpoofing, examineStripping, examineTracing)
}

func examineAddress(_ context.Context, g *run.Group) error {
	g.Add(decideAddress(g.Known.Plain.Local.Addr(), g.Known.Plain.Description)...)
	g.Add(decideScheme(g.Scheme, g.Known.Plain.Description))
	return nil
}

// addressHeaders are the headers of proxies that report the address of the client.
func addressHeaders() []string {
	return []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"X-Envoy-External-Address"}
}

// decideAddress decides whether the address of the client arrives, and how.
func decideAddress(local netip.Addr, e *wire.Description) []fact.Fact {
	sent := local.String()
	facts := func(value, by, received string) []fact.Fact {
		return []fact.Fact{
			fact.New("client.address", value, sent, received,
				"whether the address from which this program sends arrives, as the address of the connection or in a header"),
			fact.New("client.address.by", by, sent, received, "what reports the address of the client to the application"),
		}
	}
	if e.Peer() == local {
		return facts(fact.Kept, "connection", "a connection from "+sent)
	}
	var headers []string
	for _, each := range addressHeaders() {
		for _, value := range e.Values(each) {
			headers = append(headers, each+": "+value)
			if mentions(value, local) {
				return facts(fact.Kept, each, each+": "+value)
			}
		}
	}
	received := "a connection from " + e.Peer().String()
	if !e.Peer().IsValid() {
		received = "a connection whose address the Echo does not report"
	}
	return facts("lost", fact.None, strings.Join(append(headers, received), "; "))
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

func decideScheme(scheme string, e *wire.Description) fact.Fact {
	const name = "client.proto"
	const meaning = "whether proxies report the scheme of the URL (X-Forwarded-Proto, Forwarded), which applications use for links and cookies"
	text := strings.Join(append(e.Values("X-Forwarded-Proto"), e.Values("Forwarded")...), "; ")
	switch {
	case text == "":
		return fact.New(name, "not reported", scheme, "", meaning)
	case strings.Join(e.Values("X-Forwarded-Proto"), "") == scheme, placeOf(parseForwarded(e.Values("Forwarded")), "proto", scheme) >= 0:
		return fact.New(name, "reported", scheme, text, meaning)
	}
	return fact.New(name, "wrong", scheme, text, meaning)
}

// spoofing is a header that a client could set as if it were a proxy.
type spoofing struct {
	fact, meaning string
	sent          wire.Field
}

func spoofings() []spoofing {
	const host = "spoofed.example"
	return []spoofing{
		{"client.spoofable", "whether a client can choose the address in X-Forwarded-For; in front means that the real one follows it",
			wire.Field{Name: "X-Forwarded-For", Value: spoofed}},
		{"client.spoofable.forwarded", "the same for the header Forwarded", wire.Field{Name: "Forwarded", Value: "for=" + spoofed}},
		{"client.spoofable.realIP", "the same for X-Real-IP", wire.Field{Name: "X-Real-Ip", Value: spoofed}},
		{"client.spoofable.host", "whether a client can choose the host in X-Forwarded-Host", wire.Field{Name: "X-Forwarded-Host", Value: host}},
		{"client.spoofable.proto", "whether a client can choose the scheme in X-Forwarded-Proto",
			wire.Field{Name: "X-Forwarded-Proto", Value: "spoofed"}},
	}
}

func examineSpoofing(ctx context.Context, g *run.Group) error {
	all := spoofings()
	fields := make([]wire.Field, len(all))
	for i := range all {
		fields[i] = all[i].sent
	}
	o, err := g.Ask(ctx, &wire.Request{Path: run.PlainPath, Fields: fields})
	if err != nil {
		return err
	}
	for _, each := range all {
		f := decideSpoofing(each, o)
		f.Detail = each.sent.Name == "X-Real-Ip" // few applications read it
		g.Add(f)
	}
	return nil
}

// decideSpoofing decides whether a spoofed value arrives, and whether something follows it.
func decideSpoofing(f spoofing, o run.Outcome) fact.Fact {
	e := o.Described()
	if e == nil {
		return fact.Refused(f.fact, f.sent.String(), o.Refusal, f.meaning)
	}
	received := strings.Join(e.Values(f.sent.Name), ", ")
	value := fact.No
	if f.sent.Name == "Forwarded" {
		elements := parseForwarded(e.Values(f.sent.Name))
		switch placeOf(elements, "for", spoofed) {
		case -1:
		case len(elements) - 1:
			value = fact.Yes
		default:
			value = "in front"
		}
	} else if _, rest, found := strings.Cut(received, f.sent.Value); found {
		value = fact.Yes
		if strings.Trim(rest, " ") != "" {
			value = "in front"
		}
	}
	return fact.New(f.fact, value, f.sent.String(), f.sent.Name+": "+received, f.meaning)
}

// examineStripping declares what proxies add as a matter of the connection, which a proxy removes.
func examineStripping(ctx context.Context, g *run.Group) error {
	var added []string
	for _, each := range append(addressHeaders(), "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id") {
		if g.Known.Plain.Description.Has(each) {
			added = append(added, each)
		}
	}
	if len(added) == 0 {
		g.Add(decideStripping(nil, run.Outcome{}))
		return nil
	}
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath, Fields: wire.Fields("Connection", "close, "+strings.Join(added, ", "))},
		func(o run.Outcome) fact.Fact { return decideStripping(added, o) })
}

func decideStripping(added []string, o run.Outcome) fact.Fact {
	const name, meaning = "client.removable", "whether a client can remove the headers that proxies add, by naming them in Connection"
	if len(added) == 0 {
		return fact.New(name, fact.None, "", "", meaning+"; proxies add none of them")
	}
	sent := "Connection: " + strings.Join(added, ", ")
	e := o.Described()
	if e == nil {
		return fact.Refused(name, sent, o.Refusal, meaning)
	}
	var stripped []string
	for _, each := range added {
		if !e.Has(each) {
			stripped = append(stripped, each)
		}
	}
	if len(stripped) == 0 {
		return fact.New(name, fact.No, sent, "all", meaning)
	}
	return fact.New(name, fact.Yes, sent, "without "+strings.Join(stripped, ", "), meaning)
}

// identifier is a header that links the logs and traces of a request.
type identifier struct {
	fact, meaning string
	sent          wire.Field
	part          string // which must remain
}

func identifiers() []identifier {
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	return []identifier{
		{"client.requestID", "whether the X-Request-Id of a client is kept, and whether a proxy generates one for a request without",
			wire.Field{Name: "X-Request-Id", Value: "pathcheck-1"}, "pathcheck-1"},
		{"client.traceparent", "whether the trace of a client goes on, and whether a proxy begins one for a request without",
			wire.Field{Name: "Traceparent", Value: "00-" + traceID + "-00f067aa0ba902b7-01"}, traceID},
	}
}

func examineTracing(ctx context.Context, g *run.Group) error {
	for _, each := range identifiers() {
		err := g.Examine(ctx, &wire.Request{Path: run.PlainPath, Fields: []wire.Field{each.sent}},
			func(o run.Outcome) fact.Fact { return decideIdentifier(each, g.Known.Plain.Description, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// decideIdentifier compares a request with the identifier and one without.
func decideIdentifier(i identifier, without *wire.Description, o run.Outcome) fact.Fact {
	e := o.Described()
	if e == nil {
		return fact.Refused(i.fact, i.sent.String(), o.Refusal, i.meaning)
	}
	received, made := strings.Join(e.Values(i.sent.Name), ", "), without.Has(i.sent.Name)
	value := fact.Kept
	switch {
	case received == "":
		value = fact.Dropped
	case !strings.Contains(received, i.part):
		value = "replaced"
	}
	if made {
		value += ", else generated"
	}
	return fact.New(i.fact, value, i.sent.String(), i.sent.Name+": "+received, i.meaning)
}
