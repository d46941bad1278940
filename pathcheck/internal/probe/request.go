package probe

import (
	"cmp"
	"context"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineRequest examines how requests arrive: their methods, versions, paths, headers, and trailers.
func ExamineRequest(ctx context.Context, g *Group) error {
	g.plainAll(func(e *wire.Description) []Fact {
		return []Fact{decidePrefix(g.Base, baseOf(e)), NewFact("request.version", e.Proto, "HTTP/1.1", e.Proto), decideHost(g.Host, e)}
	})
	parts := []part{examineHeaders, examineTrailers}
	for fact, methods := range map[string][]string{
		"request.method":      {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"},
		"request.methodOther": {"TRACE", "PROPFIND", "BREW"},
	} {
		parts = append(parts, func(ctx context.Context, g *Group) error { return examineMethods(ctx, g, fact, methods) })
	}
	for _, each := range headerLadders() {
		parts = append(parts, func(ctx context.Context, g *Group) error { return g.climb(ctx, each) })
	}
	for _, each := range requestExperiments(g) {
		parts = append(parts, func(ctx context.Context, g *Group) error { return g.find(ctx, each) })
	}
	return g.Each(ctx, parts...)
}

// requestExperiments returns the experiments with paths, queries, header fields, and HTTP/2.
func requestExperiments(g *Group) (all []experiment) {
	for _, each := range pathProbes() {
		all = append(all, experiment{fact: each.fact, sent: each.path, detail: each.detail,
			probe: func() *wire.Request { return &wire.Request{Path: each.path} },
			read:  described(func(e *wire.Description) (string, string) { return decidePath(each, g.Known.Base, e) })})
	}
	for _, each := range []struct{ fact, name, value string }{
		{"request.headers.underscores", "X_Pathcheck_Name", "1"}, // some servers mistake underscores for hyphens
		{"request.headers.bytes", "X-Pathcheck-Bytes", "\u00e9"}, // not ASCII
	} {
		sent := wire.Field{Name: each.name, Value: each.value}
		all = append(all, experiment{fact: each.fact, sent: sent.String(),
			probe: func() *wire.Request { return &wire.Request{Path: PlainPath, Fields: []wire.Field{sent}} },
			read:  described(func(e *wire.Description) (string, string) { return decideField(sent, e) })})
	}
	return append(all,
		experiment{fact: "request.query", sent: oddQuery,
			probe: func() *wire.Request { return &wire.Request{Path: PlainPath + "?" + oddQuery} },
			read:  described(decideQuery)},
		experiment{fact: "request.http2", sent: "HTTP/2", send: g.DoHTTP2,
			probe: func() *wire.Request { return &wire.Request{Path: PlainPath} },
			read:  described(func(e *wire.Description) (string, string) { return e.Proto, e.Proto }),
			refused: func(o Outcome) (string, string) {
				return withHTTP2(o.Refusal)
			}})
}

// examineMethods determines which methods are refused or changed. The claims contain the received method, because the response to a HEAD
// request has no description.
func examineMethods(ctx context.Context, g *Group, fact string, methods []string) error {
	results, err := g.together(ctx, len(methods), func(i int) experiment {
		return experiment{
			probe:   func() *wire.Request { return &wire.Request{Method: methods[i], Path: PlainPath} },
			read:    func(o Outcome) (string, string) { return o.Claims.Method, methods[i] + ": " + o.Claims.Method },
			refused: func(o Outcome) (string, string) { return "refused", methods[i] + ": " + o.Refusal },
		}
	})
	if err != nil {
		return err
	}
	var received, refused, others []string
	for i, each := range results {
		switch each.value {
		case "":
			g.Unknown(fact, methods[i]+": "+each.received)
			return nil
		case "refused":
			refused = append(refused, methods[i])
		case methods[i]:
			each.received = methods[i]
		default:
			others = append(others, methods[i])
		}
		received = append(received, each.received)
	}
	value := Kept
	switch {
	case len(refused) > 0:
		value = "refused " + shortList(refused, maxList-len("refused "))
	case len(others) > 0:
		value = "changed " + shortList(others, maxList-len("changed "))
	}
	g.Add(NewFact(fact, value, strings.Join(methods, " "), strings.Join(received, " ")))
	return nil
}

// pathProbe is a URL path that proxies could change. All probes stay below the Echo's path, no matter how dot segments are resolved.
type pathProbe struct {
	fact, path string
	forms      map[string]string // maps changed paths to fact values
	detail     bool
}

func pathProbes() []pathProbe {
	const under = PlainPath + "/"
	return []pathProbe{
		{"request.path.encodedSlash", under + "a%2Fb", map[string]string{under + "a/b": "decoded", under + "a%252Fb": "encoded twice"}, false},
		{"request.path.encoding", under + "%7Ea%41", map[string]string{under + "~aA": "decoded"}, true},
		{"request.path.dots", under + "a/../b", map[string]string{under + "b": "resolved"}, false},
		{"request.path.encodedDots", under + "a/%2e%2e/b", map[string]string{under + "b": "resolved", under + "a/../b": "decoded"}, false},
		{"request.path.doubleSlash", under + "a//b", map[string]string{under + "a/b": "merged"}, false},
		{"request.path.case", under + "aB%c3%a9", map[string]string{under + "aB%C3%A9": "escapes in upper case", under + "ab%c3%a9": "lower"},
			false},
		{"request.path.parameters", under + "a;v=1/b", map[string]string{under + "a/b": Dropped}, true},
	}
}

func decidePrefix(sent, received string) Fact {
	value := Changed
	switch received {
	case sent:
		value = Kept
	case "":
		value = "removed"
	}
	return NewFact("request.path.prefix", value, sent+"/", received+"/")
}

// decidePath compares a sent path with the part of the received path that follows base, which is the Echo's path behind the proxies.
func decidePath(probe pathProbe, base string, e *wire.Description) (value, received string) {
	received = strings.TrimPrefix(e.PathOnly(), base)
	if received == probe.path {
		return Kept, received
	}
	return cmp.Or(probe.forms[received], Changed), received
}

// oddQuery contains parameters that proxies might sort, merge, or drop.
const oddQuery = "b=2&a=1&a=&c&d=%2F%20+;e"

func decideQuery(e *wire.Description) (value, received string) {
	_, received, found := strings.Cut(e.Path, "?")
	switch {
	case received == oddQuery:
		return Kept, received
	case !found:
		return Dropped, received
	}
	return Changed, received
}

func decideHost(sent string, e *wire.Description) Fact {
	value := Changed
	if e.Host == sent {
		value = Kept
	}
	return NewFact("request.host", value, "Host: "+sent, "Host: "+e.Host)
}

// examineTrailers sends a trailer field after the body.
func examineTrailers(ctx context.Context, g *Group) error {
	sent := wire.Field{Name: "X-Pathcheck-Sum", Value: "1"}
	return g.find(ctx, experiment{fact: "request.trailers", sent: sent.String(),
		probe: func() *wire.Request {
			return &wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: []byte("x"), Trailers: []wire.Field{sent},
				Fields: wire.Fields("Trailer", sent.Name)}
		},
		read: described(func(e *wire.Description) (string, string) {
			if e.Request.Trailers.Get(sent.Name) == sent.Value {
				return Kept, sent.String()
			}
			return Dropped, "no trailer"
		})})
}
