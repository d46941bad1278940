package probe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineClient examines how the client appears to the Echo behind the proxies.
func ExamineClient(ctx context.Context, g *Group) error {
	g.plainAll(func(e *wire.Description) []Fact {
		return append(decideAddress(g.Known.Plain.Local.Addr(), Through(g.Proxy.Address), e), decideReported(&g.Target, e)...)
	})
	parts := []part{examineSpoofing, examineRemoving}
	for _, each := range identifiers() {
		parts = append(parts, func(ctx context.Context, g *Group) error { return examineIdentifier(ctx, g, each) })
	}
	return g.Each(ctx, parts...)
}

// examineRemoving sends a Connection header that lists the headers that the path adds, all together and each alone. A proxy removes the
// listed headers, unless it adds its own headers afterward.
func examineRemoving(ctx context.Context, g *Group) error {
	const name = "client.removable"
	added := slices.DeleteFunc(addedTo(g.Headers, g.Known.Plain.Description), func(name string) bool { // only some of the proxies add it
		return slices.ContainsFunc(g.Known.Samples, func(a *wire.Response) bool { return a.Description != nil && !a.Description.Has(name) })
	})
	if len(added) == 0 {
		return g.conclude(experiment{fact: name}, result{value: None}, nil)
	}
	tries := [][]string{added}
	if len(added) > 1 {
		tries = slices.AppendSeq(tries, slices.Chunk(added[:min(len(added), maxAlone)], 1))
	}
	sent := func(names []string) string { return "close, " + strings.Join(names, ", ") }
	results, err := together(ctx, g, tries, func(names []string) experiment {
		return experiment{once: true, probe: wire.Request{Path: PlainPath, Fields: wire.Fields("Connection", sent(names))},
			read: described(func(e *wire.Description) (string, string) {
				removed := slices.DeleteFunc(slices.Clone(names), e.Has)
				return choose(len(removed) == 0, NotFound, Yes), "without " + strings.Join(removed, ", ")
			})}
	})
	if err != nil {
		return err
	}
	worst, arrived := results[0], 0 // yes, then no value, then not found, then refused
	for i, each := range results {
		switch each.value {
		case Yes:
			return g.conclude(experiment{fact: name, sent: "Connection: " + sent(tries[i])}, each, nil)
		case NotFound:
			arrived++
		case "":
			worst = each
		}
	}
	if arrived > 0 && worst.value != "" {
		worst = result{value: NotFound, received: fmt.Sprintf("all, in each of %d tries that arrived", arrived)}
	}
	return g.conclude(experiment{fact: name, sent: "Connection: " + sent(added)}, worst, nil)
}

// maxAlone is the maximum number of headers that are tried alone.
const maxAlone = 6

// identifier is a header that links the logs and traces of a request.
type identifier struct {
	fact, header string
	sent         []string // values; a proxy may keep only some
	part         int      // the length of the part of the value that proxies must not change
}

func identifiers() []identifier {
	return []identifier{
		{"client.requestID", "X-Request-Id", []string{"6f1c6b5e-2f0d-4b7a-9c3e-5d8f7a1b2c3d", "pathcheck-1"}, 0},
		{"client.traceparent", "Traceparent", []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, len("00-") + 32},
	}
}

// examineIdentifier compares requests that have the identifier with a request that does not.
func examineIdentifier(ctx context.Context, g *Group, id identifier) error {
	r, err := both(ctx, g, "a UUID", id.sent, func(sent string) experiment {
		return experiment{probe: wire.Request{Path: PlainPath, Fields: wire.Fields(id.header, sent)},
			read: described(func(e *wire.Description) (string, string) { return decideIdentifier(id, sent, e) })}
	})
	if r.value != "" && r.outcome.Arrived() && g.Known.Plain.Description.Has(id.header) {
		r.value += ", else generated"
	}
	return g.conclude(experiment{fact: id.fact, sent: id.header + ": " + strings.Join(id.sent, " or ")}, r, err)
}

func decideIdentifier(id identifier, sent string, e *wire.Description) (value, received string) {
	values := e.Values(id.header)
	received = id.header + ": " + strings.Join(values, ", ")
	part := sent[:cmp.Or(id.part, len(sent))]
	switch {
	case len(values) == 0:
		return Dropped, received
	case slices.ContainsFunc(values, isRedacted) && !isUnchanged(sent, values):
		return "", "the Echo redacts " + id.header
	case isUnchanged(sent, values), strings.Contains(received, part):
		return Kept, received
	}
	return "replaced", received
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
			[]string{t.Host, t.Name, "[" + t.Name + "]"}, []string{"X-Forwarded-Host", "Forwarded", "X-Original-Host"}, "host"},
		{"client.port", "",
			[]string{port}, []string{"X-Forwarded-Port"}, ""},
	} {
		value, by, received := each.decide(e)
		f := NewFact(each.fact, value, each.want[0], received)
		if value == "" {
			f = unknown(each.fact, received)
		}
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
		case slices.ContainsFunc(e.Values(name), isRedacted):
			if slices.ContainsFunc(p.want, func(want string) bool { return isUnchanged(want, e.Values(name)) }) {
				return "reported", name, received
			}
			return "", name, "the Echo redacts " + name
		case len(values) > 1 && name != "Forwarded": // Forwarded is a list by design
			return "list", name, received
		case slices.ContainsFunc(values, isRight):
			return "reported", name, received
		}
		return "wrong", name, received
	}
	return "not reported", None, ""
}
