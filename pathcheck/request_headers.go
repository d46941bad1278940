package pathcheck

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/internal/proof"
)

// ordinaryHeaders are the headers of which a way may take some away or change some.
func ordinaryHeaders() []field {
	return []field{
		{"Accept-Language", "de"}, {"Authorization", "Basic cGF0aDpjaGVjaw=="}, {"Cookie", "pathcheck=1"}, {"Origin", "http://pathcheck.example"},
		{"Referer", "http://pathcheck.example/"}, {"If-None-Match", `"pathcheck"`}, {"Cache-Control", "no-cache"}, {"Prefer", "wait=1"},
		{"Accept-Encoding", "identity"}, {"X-Requested-With", "pathcheck"}, {"X-Api-Version", "1"}, {"Grpc-Timeout", "9S"}, {"Te", "trailers"},
		{"x-PathCheck-cAsE", "1"}, {"X-Pathcheck-B", "1"}, {"X-Pathcheck-A", "1"}, {"X-Pathcheck-C", "1"},
		{"X-Pathcheck-Twice", "1"}, {"X-Pathcheck-Twice", "2"}, {"X-Pathcheck-Empty", ""},
	}
}

func examineHeaders(ctx context.Context, g *group) error {
	sent := ordinaryHeaders()
	o, err := g.ask(ctx, &request{path: plainPath, fields: sent})
	if err != nil {
		return err
	}
	e := o.echoed()
	if e == nil {
		g.add(refusedFact("request.headers.lost", "a request with the headers of browsers", o.refusal, "which headers do not arrive"))
		return nil
	}
	g.add(decideLost(sent, e), decideAdded(sent, e), decideChanged(sent, e), decideCase("x-PathCheck-cAsE", e),
		decideOrder([]string{"X-Pathcheck-B", "X-Pathcheck-A", "X-Pathcheck-C"}, e), decideTwice("X-Pathcheck-Twice", e))
	return nil
}

// ownHeaders are the headers that each request has.
func ownHeaders() []string {
	return []string{proof.RequestHeader, "User-Agent", "Accept", "Connection", "Host"}
}

func decideLost(sent []field, e *echo) Fact {
	var lost, names []string
	for _, each := range append(sent, field{"User-Agent", ""}, field{"Accept", ""}) {
		names = append(names, each.name)
		if !e.has(each.name) && !isHop(each.name) {
			lost = append(lost, each.name)
		}
	}
	return newFact("request.headers.lost", listed(lost), strings.Join(names, " "), describeLost(lost), "which headers do not arrive")
}

func describeLost(lost []string) string {
	if len(lost) == 0 {
		return "all"
	}
	return "all but " + strings.Join(lost, ", ")
}

// isHop reports whether a header is for the next server alone (RFC 9110, 7.6.1).
func isHop(name string) bool {
	return slices.Contains([]string{"Connection", "Te", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade"}, http.CanonicalHeaderKey(name))
}

func decideAdded(sent []field, e *echo) Fact {
	known := ownHeaders()
	for _, each := range sent {
		known = append(known, http.CanonicalHeaderKey(each.name))
	}
	var added, texts []string
	for name, values := range e.Headers {
		if !slices.Contains(known, name) {
			added = append(added, name)
			texts = append(texts, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(texts)
	return newFact("request.headers.added", listed(added), "", strings.Join(texts, "; "), "which headers the way adds")
}

func decideChanged(sent []field, e *echo) Fact {
	var names, before, after []string
	for _, each := range sent {
		received := e.values(each.name)
		isRedacted := each.name == "Authorization" || each.name == "Cookie" // the Echo tells only their size
		if len(received) == 1 && received[0] != each.value && !isRedacted && !isHop(each.name) && each.name != "X-Pathcheck-Twice" {
			names, before, after = append(names, each.name), append(before, each.String()), append(after, each.name+": "+received[0])
		}
	}
	return newFact("request.headers.changed", listed(names), strings.Join(before, "; "), strings.Join(after, "; "), "which headers arrive with another value")
}

func decideCase(sent string, e *echo) Fact {
	const name, meaning = "request.headers.case", "whether names of headers keep their case; applications must not depend on it, but some do"
	received := e.nameAsSent(sent)
	value := changed
	switch received {
	case "":
		value = "not told" // the request arrived by HTTP/2, which has only lower case
	case sent:
		value = kept
	case strings.ToLower(sent):
		value = "lower"
	case http.CanonicalHeaderKey(sent):
		value = "canonical"
	}
	return newFact(name, value, sent, received, meaning)
}

func decideOrder(sent []string, e *echo) Fact {
	const name, meaning = "request.headers.order", "whether headers keep their order"
	var received []string
	for _, each := range e.Request.HeaderNames {
		if slices.ContainsFunc(sent, func(other string) bool { return strings.EqualFold(each, other) }) {
			received = append(received, http.CanonicalHeaderKey(each))
		}
	}
	value := changed
	switch {
	case len(received) == 0:
		value = "not told"
	case slices.Equal(sent, received):
		value = kept
	}
	return detail(newFact(name, value, strings.Join(sent, " "), strings.Join(received, " "), meaning))
}

// decideTwice tells what becomes of a header that was sent twice, with the values 1 and 2.
func decideTwice(sent string, e *echo) Fact {
	received := e.values(sent)
	value := changed
	switch text := strings.ReplaceAll(strings.Join(received, "|"), ", ", ","); text {
	case "1|2":
		value = kept
	case "1,2":
		value = "merged"
	case "1":
		value = "first"
	case "2":
		value = "last"
	case "":
		value = dropped
	}
	return newFact("request.headers.twice", value, sent+": 1; "+sent+": 2", strings.Join(received, "; "), "what becomes of a header that is there twice")
}

// examineUnderscores sends a header that some servers mistake for another with hyphens.
func examineUnderscores(ctx context.Context, g *group) error {
	return examineField(ctx, g, "request.headers.underscores", field{"X_Pathcheck_Name", "1"}, "whether a header arrives whose name has underscores")
}

// examineBytes sends a header whose value is not ASCII.
func examineBytes(ctx context.Context, g *group) error {
	return examineField(ctx, g, "request.headers.bytes", field{"X-Pathcheck-Bytes", "\u00e9"}, "whether a header arrives whose value is not ASCII")
}

// examineField sends a header and tells what becomes of it.
func examineField(ctx context.Context, g *group, name string, sent field, meaning string) error {
	return g.examine(ctx, &request{path: plainPath, fields: []field{sent}},
		func(o outcome) Fact { return decideField(name, sent, meaning, o) })
}

func decideField(name string, sent field, meaning string, o outcome) Fact {
	e := o.echoed()
	if e == nil {
		return refusedFact(name, sent.String(), o.refusal, meaning)
	}
	received, renamed := e.values(sent.name), e.values(strings.ReplaceAll(sent.name, "_", "-"))
	switch {
	case len(received) == 1 && received[0] == sent.value:
		return newFact(name, kept, sent.String(), sent.String(), meaning)
	case len(received) > 0:
		return newFact(name, changed, sent.String(), sent.name+": "+strings.Join(received, ", "), meaning)
	case len(renamed) > 0:
		return newFact(name, "renamed", sent.String(), strings.ReplaceAll(sent.name, "_", "-")+": "+strings.Join(renamed, ", "), meaning)
	}
	return newFact(name, dropped, sent.String(), "", meaning)
}
