package probe

import (
	"cmp"
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
		"x-PathCheck-cAsE", "1", "X-Pathcheck-Twice", "1", "X-Pathcheck-Twice", "2", "X-Pathcheck-Empty", "",
	)
	sent := wire.Without(append(g.Own(), ordinary...), g.Headers)
	all := slices.Concat(sent, g.Headers)
	return g.findAll(ctx, experiment{sent: "a request with typical browser headers", probe: wire.Request{Path: PlainPath, Fields: sent}},
		func(o Outcome) []Fact {
			e := o.Described()
			if e == nil {
				return nil
			}
			added := addedTo(all, e)
			return []Fact{decideLost(all, e), NewFact("request.headers.added", listed(added), "", describeHeaders(added, e.Headers)),
				decideChanged(sent, e), decideCase("x-PathCheck-cAsE", e), decideTwice("X-Pathcheck-Twice", e)}
		})
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
	return choose(len(lost) == 0, "all", "all but "+strings.Join(lost, ", "))
}

// isHop reports whether a header is hop-by-hop, that is, only for the next server (RFC 9110, 7.6.1).
func isHop(name string) bool {
	return slices.Contains([]string{"Connection", "Te", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade"},
		http.CanonicalHeaderKey(name))
}

// describeHeaders returns the names and values of headers.
func describeHeaders(names []string, h http.Header) string {
	var texts []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		texts = append(texts, name+": "+strings.Join(h[name], ", "))
	}
	return strings.Join(texts, "; ")
}

// addedTo returns the names of the headers that were added to the sent ones, in order.
func addedTo(sent []wire.Field, e *wire.Description) (added []string) {
	known := []string{proof.RequestHeader, "User-Agent", "Accept", "Accept-Encoding", "Connection", "Host"} // every request has these
	for _, each := range sent {
		known = append(known, http.CanonicalHeaderKey(each.Name))
	}
	for name := range e.Headers {
		if !slices.Contains(known, name) {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return added
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
	scheme, secret, _ := strings.Cut(sent, " ")
	return len(received) == 1 && slices.Contains([]string{sent, redacted(sent), scheme + " " + redacted(secret)}, received[0])
}

// redacted returns a secret as the Echo redacts it.
func redacted(secret string) string {
	return fmt.Sprintf("[redacted: %d bytes, sha256 %.4x]", len(secret), sha256.Sum256([]byte(secret)))
}

// isRedacted reports whether the Echo redacts a value.
func isRedacted(value string) bool { return strings.Contains(value, "[redacted: ") }

func decideCase(sent string, e *wire.Description) Fact {
	const name = "request.headers.case"
	at := slices.IndexFunc(e.Request.HeaderNames, func(other string) bool { return strings.EqualFold(sent, other) })
	if at < 0 { // the request arrived over HTTP/2, which uses only lowercase names
		return unknown(name, "the Echo does not report the names as they were sent")
	}
	received := e.Request.HeaderNames[at]
	values := map[string]string{sent: Kept, strings.ToLower(sent): "lower", http.CanonicalHeaderKey(sent): "canonical"}
	return NewFact(name, cmp.Or(values[received], Changed), sent, received)
}

// decideTwice determines what happens to a header that was sent twice, with the values 1 and 2.
func decideTwice(sent string, e *wire.Description) Fact {
	received := e.Values(sent)
	if slices.ContainsFunc(received, isRedacted) {
		return unknown("request.headers.duplicates", "the Echo redacts "+sent)
	}
	values := map[string]string{"1|2": Kept, "1,2": "merged", "1": "first", "2": "last", "": Dropped}
	value := cmp.Or(values[strings.ReplaceAll(strings.Join(received, "|"), ", ", ",")], Changed)
	return NewFact("request.headers.duplicates", value, sent+": 1; "+sent+": 2", strings.Join(received, "; "))
}

func decideField(sent wire.Field, e *wire.Description) (value, received string) {
	values, renamed := e.Values(sent.Name), e.Values(strings.ReplaceAll(sent.Name, "_", "-"))
	switch {
	case isUnchanged(sent.Value, values):
		return Kept, sent.String()
	case len(values) > 0:
		return Changed, sent.Name + ": " + strings.Join(values, ", ")
	case len(renamed) > 0:
		return "renamed", strings.ReplaceAll(sent.Name, "_", "-") + ": " + strings.Join(renamed, ", ")
	}
	return Dropped, ""
}
