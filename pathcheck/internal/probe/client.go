package probe

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineClient examines how the client appears to the Echo behind the proxies.
func ExamineClient(ctx context.Context, g *Group) error {
	e := g.Known.Plain.Description
	g.Add(decideAddress(g.Known.Plain.Local.Addr(), e)...)
	g.Add(decideReported(&g.Target, e)...)
	if err := g.Each(ctx, examineSpoofing, examineStripping); err != nil {
		return err
	}
	for _, each := range identifiers() {
		err := g.Examine(ctx, &wire.Request{Path: PlainPath, Fields: []wire.Field{each.sent}},
			func(o Outcome) Fact { return decideIdentifier(each, e, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// examineStripping sends a Connection header that lists the headers that proxies add. Proxies remove the listed headers.
func examineStripping(ctx context.Context, g *Group) error {
	var added []string
	for _, name := range append(addressHeaderNames(), "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id") {
		if g.Known.Plain.Description.Has(name) {
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		g.Add(decideStripping(nil, Outcome{}))
		return nil
	}
	return g.Examine(ctx, &wire.Request{Path: PlainPath, Fields: wire.Fields("Connection", "close, "+strings.Join(added, ", "))},
		func(o Outcome) Fact { return decideStripping(added, o) })
}

func decideStripping(added []string, o Outcome) Fact {
	const name = "client.removable"
	if len(added) == 0 {
		return NewFact(name, None, "", "")
	}
	sent := "Connection: " + strings.Join(added, ", ")
	e := o.Described()
	if e == nil {
		return refusedFact(name, sent, o.Refusal)
	}
	var stripped []string
	for _, each := range added {
		if !e.Has(each) {
			stripped = append(stripped, each)
		}
	}
	if len(stripped) == 0 {
		return NewFact(name, No, sent, "all")
	}
	return NewFact(name, Yes, sent, "without "+strings.Join(stripped, ", "))
}

// identifier is a header that links the logs and traces of a request.
type identifier struct {
	fact string
	sent wire.Field
	part string // the part of the value that proxies must not change
}

func identifiers() []identifier {
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	return []identifier{
		{"client.requestID", wire.Field{Name: "X-Request-Id", Value: "pathcheck-1"}, "pathcheck-1"},
		{"client.traceparent", wire.Field{Name: "Traceparent", Value: "00-" + traceID + "-00f067aa0ba902b7-01"}, traceID},
	}
}

// decideIdentifier compares a request that has the identifier with a request that does not.
func decideIdentifier(i identifier, without *wire.Description, o Outcome) Fact {
	e := o.Described()
	if e == nil {
		return refusedFact(i.fact, i.sent.String(), o.Refusal)
	}
	received, made := strings.Join(e.Values(i.sent.Name), ", "), without.Has(i.sent.Name)
	value := Kept
	switch {
	case received == "":
		value = Dropped
	case !strings.Contains(received, i.part):
		value = "replaced"
	}
	if made {
		value += ", else generated"
	}
	return NewFact(i.fact, value, i.sent.String(), i.sent.Name+": "+received)
}

// urlPart is a part of the URL that proxies report: the scheme, the host, or the port.
type urlPart struct {
	fact, by  string
	want      []string
	headers   []string // the first of these that a request contains is used
	parameter string   // in Forwarded
}

// decideReported determines whether proxies report the client's URL correctly.
func decideReported(t *wire.Target, e *wire.Description) (facts []Fact) {
	_, port, _ := net.SplitHostPort(t.Host) // empty if the URL has none
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[t.Scheme])
	secure := map[string]string{"http": "off", "https": "on"}[t.Scheme]
	for _, each := range []urlPart{
		{"client.proto", "client.proto.by",
			[]string{t.Scheme, secure}, []string{"X-Forwarded-Proto", "Forwarded", "X-Forwarded-Scheme", "X-Forwarded-Protocol", "X-Scheme",
				"X-Url-Scheme", "Cloudfront-Forwarded-Proto", "X-Forwarded-Ssl", "Front-End-Https"}, "proto"},
		{"client.host", "",
			[]string{t.Host, t.Name}, []string{"X-Forwarded-Host", "Forwarded", "X-Original-Host"}, "host"},
		{"client.port", "",
			[]string{port}, []string{"X-Forwarded-Port"}, ""},
	} {
		value, by, received := each.decide(e)
		f := NewFact(each.fact, value, each.want[0], received)
		f.Detail = each.by == ""
		facts = append(facts, f)
		if each.by != "" {
			facts = append(facts, Detail(NewFact(each.by, by, each.want[0], received)))
		}
	}
	return facts
}

func (p *urlPart) decide(e *wire.Description) (value, by, received string) {
	for _, name := range p.headers {
		values := e.Reported(name, p.parameter)
		if len(values) == 0 {
			continue
		}
		received = name + ": " + strings.Join(e.Values(name), "; ")
		isRight := func(value string) bool {
			return slices.ContainsFunc(p.want, func(want string) bool { return strings.EqualFold(want, value) })
		}
		switch {
		case len(values) > 1 && name != "Forwarded": // Forwarded is a list by design
			return "list", name, received
		case slices.ContainsFunc(values, isRight):
			return "reported", name, received
		}
		return "wrong", name, received
	}
	return "not reported", None, ""
}
