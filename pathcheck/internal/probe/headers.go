package probe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

func examineHeaders(ctx context.Context, g *Group) error {
	ordinary := wire.Fields( // proxies may remove or change these headers
		"Accept-Language", "de", "Authorization", "Basic cGF0aDpjaGVjaw==", "Cookie", "pathcheck=1", "Origin", "http://pathcheck.example",
		"Referer", "http://pathcheck.example/", "If-None-Match", `"pathcheck"`, "Cache-Control", "no-cache", "Prefer", "wait=1",
		"X-Requested-With", "pathcheck", "X-Api-Version", "1", "Grpc-Timeout", "9S", "Te", "trailers",
		"x-PathCheck-cAsE", "1", "X-Pathcheck-B", "1", "X-Pathcheck-A", "1", "X-Pathcheck-C", "1",
		"X-Pathcheck-Twice", "1", "X-Pathcheck-Twice", "2", "X-Pathcheck-Empty", "",
	)
	sent := wire.Without(append(g.Own(), ordinary...), g.Headers)
	o, err := g.Ask(ctx, &wire.Request{Path: PlainPath, Fields: sent})
	if err != nil {
		return err
	}
	e := o.Described()
	if e == nil {
		g.Add(refusedFact("request.headers.removed", "a request with typical browser headers", o.Refusal))
		return nil
	}
	all := slices.Concat(sent, g.Headers)
	g.Add(decideLost(all, e), decideAdded(all, e), decideChanged(sent, e), decideCase("x-PathCheck-cAsE", e),
		decideOrder([]string{"X-Pathcheck-B", "X-Pathcheck-A", "X-Pathcheck-C"}, e), decideTwice("X-Pathcheck-Twice", e))
	return nil
}

func decideLost(sent []wire.Field, e *wire.Description) Fact {
	var lost, names []string
	for _, each := range sent {
		names = append(names, each.Name)
		if !e.Has(each.Name) && !isHop(each.Name) {
			lost = append(lost, each.Name)
		}
	}
	return NewFact("request.headers.removed", listed(lost), strings.Join(names, " "), describeLost(lost))
}

func describeLost(lost []string) string {
	if len(lost) == 0 {
		return "all"
	}
	return "all but " + strings.Join(lost, ", ")
}

// isHop reports whether a header is hop-by-hop, that is, only for the next server (RFC 9110, 7.6.1).
func isHop(name string) bool {
	return slices.Contains([]string{"Connection", "Te", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade"},
		http.CanonicalHeaderKey(name))
}

func decideAdded(sent []wire.Field, e *wire.Description) Fact {
	known := []string{proof.RequestHeader, "User-Agent", "Accept", "Accept-Encoding", "Connection", "Host"} // every request has these
	for _, each := range sent {
		known = append(known, http.CanonicalHeaderKey(each.Name))
	}
	var added, texts []string
	for name, values := range e.Headers {
		if !slices.Contains(known, name) {
			added = append(added, name)
			texts = append(texts, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(texts)
	return NewFact("request.headers.added", listed(added), "", strings.Join(texts, "; "))
}

func decideChanged(sent []wire.Field, e *wire.Description) Fact {
	var names, before, after []string
	for _, each := range sent {
		received := e.Values(each.Name)
		hasOwnFact := each.Name == "X-Pathcheck-Twice"
		if len(received) > 0 && !isUnchanged(each.Value, received) && !isHop(each.Name) && !hasOwnFact {
			names, before = append(names, each.Name), append(before, each.String())
			after = append(after, each.Name+": "+strings.Join(received, "; "))
		}
	}
	return NewFact("request.headers.changed", listed(names), strings.Join(before, "; "), strings.Join(after, "; "))
}

// isUnchanged reports whether a header arrives with only the value that was sent. The Echo may redact the value, except for its scheme.
func isUnchanged(sent string, received []string) bool {
	redacted := func(secret string) string {
		digest := sha256.Sum256([]byte(secret))
		return fmt.Sprintf("[redacted: %d bytes, sha256 %x]", len(secret), digest[:4])
	}
	scheme, secret, _ := strings.Cut(sent, " ")
	return len(received) == 1 && slices.Contains([]string{sent, redacted(sent), scheme + " " + redacted(secret)}, received[0])
}

func decideCase(sent string, e *wire.Description) Fact {
	const name = "request.headers.case"
	received := e.NameAsSent(sent)
	value := Changed
	switch received {
	case "":
		value = "not reported" // the request arrived over HTTP/2, which uses only lowercase names
	case sent:
		value = Kept
	case strings.ToLower(sent):
		value = "lower"
	case http.CanonicalHeaderKey(sent):
		value = "canonical"
	}
	return NewFact(name, value, sent, received)
}

func decideOrder(sent []string, e *wire.Description) Fact {
	const name = "request.headers.order"
	var received []string
	for _, each := range e.Request.HeaderNames {
		if slices.ContainsFunc(sent, func(other string) bool { return strings.EqualFold(each, other) }) {
			received = append(received, http.CanonicalHeaderKey(each))
		}
	}
	value := Changed
	switch {
	case len(received) == 0:
		value = "not reported"
	case slices.Equal(sent, received):
		value = Kept
	}
	return Detail(NewFact(name, value, strings.Join(sent, " "), strings.Join(received, " ")))
}

// decideTwice determines what happens to a header that was sent twice, with the values 1 and 2.
func decideTwice(sent string, e *wire.Description) Fact {
	received := e.Values(sent)
	value := Changed
	switch text := strings.ReplaceAll(strings.Join(received, "|"), ", ", ","); text {
	case "1|2":
		value = Kept
	case "1,2":
		value = "merged"
	case "1":
		value = "first"
	case "2":
		value = "last"
	case "":
		value = Dropped
	}
	return NewFact("request.headers.duplicates", value, sent+": 1; "+sent+": 2", strings.Join(received, "; "))
}

func decideField(name string, sent wire.Field, o Outcome) Fact {
	e := o.Described()
	if e == nil {
		return refusedFact(name, sent.String(), o.Refusal)
	}
	received, renamed := e.Values(sent.Name), e.Values(strings.ReplaceAll(sent.Name, "_", "-"))
	switch {
	case len(received) == 1 && received[0] == sent.Value:
		return NewFact(name, Kept, sent.String(), sent.String())
	case len(received) > 0:
		return NewFact(name, Changed, sent.String(), sent.Name+": "+strings.Join(received, ", "))
	case len(renamed) > 0:
		return NewFact(name, "renamed", sent.String(), strings.ReplaceAll(sent.Name, "_", "-")+": "+strings.Join(renamed, ", "))
	}
	return NewFact(name, Dropped, sent.String(), "")
}
