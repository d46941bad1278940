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
		return []Fact{decidePrefix(g.Base, baseOf(e)), NewFact("request.version", e.Proto, "HTTP/1.1", e.Proto),
			NewFact("request.host", choose(strings.EqualFold(e.Host, g.Host), Kept, Changed), "Host: "+g.Host, "Host: "+e.Host)}
	})
	parts := []part{examineHeaders,
		examineMethods("request.method", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
		examineMethods("request.methodOther", "TRACE", "PROPFIND", "BREW")}
	for _, each := range headerLadders() {
		parts = append(parts, func(ctx context.Context, g *Group) error {
			if g.Known.unrouted != "" && each.fact == "request.url.size" { // the Echo does not see the URL
				return g.unknownLimit(each, g.Known.unrouted)
			}
			return g.climb(ctx, each)
		})
	}
	for _, each := range requestExperiments(g) {
		parts = append(parts, func(ctx context.Context, g *Group) error { return g.find(ctx, each) })
	}
	return g.Each(ctx, parts...)
}

// requestExperiments returns the experiments with paths, queries, header fields, trailers, and HTTP/2.
func requestExperiments(g *Group) []experiment {
	sum := wire.Field{Name: "X-Pathcheck-Sum", Value: "1"}
	all := []experiment{
		{fact: "request.query", sent: oddQuery, probe: wire.Request{Path: PlainPath + "?" + oddQuery}, read: described(decideQuery)},
		{fact: "request.http2", sent: "HTTP/2", probe: wire.Request{Path: PlainPath}, send: g.DoHTTP2, refused: withoutHTTP2,
			read: described(func(e *wire.Description) (string, string) { return e.Proto, e.Proto })},
		{fact: "request.trailers", sent: sum.String(),
			probe: wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: []byte("x"), Trailers: []wire.Field{sum},
				Fields: wire.Fields("Trailer", sum.Name)},
			read: described(func(e *wire.Description) (string, string) {
				isKept := e.Request.Trailers.Get(sum.Name) == sum.Value
				return choose(isKept, Kept, Dropped), choose(isKept, sum.String(), "no trailer")
			})},
	}
	for fact, sent := range map[string]wire.Field{
		"request.headers.underscores": {Name: "X_Pathcheck_Name", Value: "1"},       // some servers mistake underscores for hyphens
		"request.headers.bytes":       {Name: "X-Pathcheck-Bytes", Value: "\u00e9"}, // not ASCII
	} {
		all = append(all, experiment{fact: fact, sent: sent.String(), probe: wire.Request{Path: PlainPath, Fields: []wire.Field{sent}},
			read: described(func(e *wire.Description) (string, string) { return decideField(sent, e) })})
	}
	for _, each := range pathProbes() {
		all = append(all, experiment{fact: each.fact, sent: each.path, detail: each.detail, probe: wire.Request{Path: each.path},
			read: described(func(e *wire.Description) (string, string) { return decidePath(each, g.Known.Base, e) })})
	}
	return all
}

// examineMethods returns the part that determines which methods are refused or changed. The claims contain the received method, because the
// response to a HEAD request has no description.
func examineMethods(fact string, methods ...string) part {
	return func(ctx context.Context, g *Group) error {
		results, err := together(ctx, g, methods, func(method string) experiment {
			return experiment{probe: wire.Request{Method: method, Path: PlainPath},
				read: func(o Outcome) (string, string) {
					return choose(o.Claims.Method == method, Kept, Changed), o.Claims.Method
				},
				refused: func(o Outcome) (string, string) { return "refused", o.Refusal }}
		})
		if err == nil {
			g.concludeEach(fact, methods, results)
		}
		return err
	}
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
	value := choose(received == "", "removed", Changed)
	return NewFact("request.path.prefix", choose(received == sent, Kept, value), sent+"/", received+"/")
}

// decidePath compares a sent path with the part of the received path that follows base, which is the Echo's path behind the proxies.
func decidePath(probe pathProbe, base string, e *wire.Description) (value, received string) {
	received = strings.TrimPrefix(e.PathOnly(), base)
	return choose(received == probe.path, Kept, cmp.Or(probe.forms[received], Changed)), received
}

// oddQuery contains parameters that proxies might sort, merge, or drop.
const oddQuery = "b=2&a=1&a=&c&d=%2F%20+;e"

func decideQuery(e *wire.Description) (value, received string) {
	_, received, found := strings.Cut(e.Path, "?")
	return choose(received == oddQuery, Kept, choose(found, Changed, Dropped)), received
}
