package probe

import (
	"context"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineClient examines how the client appears to the Echo behind the proxies.
func ExamineClient(ctx context.Context, g *Group) error {
	return g.Each(ctx, examineAddress, examineSpoofing, examineStripping, examineTracing)
}

func examineAddress(_ context.Context, g *Group) error {
	e := g.Known.Plain.Description
	g.Add(decideAddress(g.Known.Plain.Local.Addr(), e)...)
	g.Add(decideReported(&g.Target, e)...)
	return nil
}

// examineStripping sends a Connection header that lists the headers that proxies add. Proxies remove the listed headers.
func examineStripping(ctx context.Context, g *Group) error {
	var added []string
	for _, each := range append(addressHeaders(), addressHeader{name: "X-Forwarded-Host"}, addressHeader{name: "X-Forwarded-Proto"},
		addressHeader{name: "X-Request-Id"}) {
		if g.Known.Plain.Description.Has(each.name) {
			added = append(added, each.name)
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
		return Refused(name, sent, o.Refusal)
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

func examineTracing(ctx context.Context, g *Group) error {
	for _, each := range identifiers() {
		err := g.Examine(ctx, &wire.Request{Path: PlainPath, Fields: []wire.Field{each.sent}},
			func(o Outcome) Fact { return decideIdentifier(each, g.Known.Plain.Description, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// decideIdentifier compares a request that has the identifier with a request that does not.
func decideIdentifier(i identifier, without *wire.Description, o Outcome) Fact {
	e := o.Described()
	if e == nil {
		return Refused(i.fact, i.sent.String(), o.Refusal)
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
