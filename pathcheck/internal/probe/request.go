package probe

import (
	"context"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineRequest examines how requests arrive: their methods, versions, paths, headers, and trailers.
func ExamineRequest(ctx context.Context, g *Group) error {
	if err := g.Each(ctx, examineMethods, examineVersions, examinePaths); err != nil {
		return err
	}
	if err := g.Examine(ctx, &wire.Request{Path: PlainPath + "?" + oddQuery}, decideQuery); err != nil {
		return err
	}
	g.Add(decideHost(g.Host, g.Known.Plain.Description))
	if err := examineHeaders(ctx, g); err != nil {
		return err
	}
	for _, each := range []struct{ fact, name, value string }{
		{"request.headers.underscores", "X_Pathcheck_Name", "1"}, // some servers mistake underscores for hyphens
		{"request.headers.bytes", "X-Pathcheck-Bytes", "\u00e9"}, // not ASCII
	} {
		sent := wire.Field{Name: each.name, Value: each.value}
		err := g.Examine(ctx, &wire.Request{Path: PlainPath, Fields: []wire.Field{sent}},
			func(o Outcome) Fact { return decideField(each.fact, sent, o) })
		if err != nil {
			return err
		}
	}
	if err := examineTrailers(ctx, g); err != nil {
		return err
	}
	for _, each := range headerLadders() {
		if err := climb(ctx, g, each); err != nil {
			return err
		}
	}
	return nil
}

func examineMethods(ctx context.Context, g *Group) error {
	for _, each := range []struct {
		fact    string
		methods []string
	}{
		{"request.method", []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{"request.methodOther", []string{"TRACE", "PROPFIND", "BREW"}},
	} {
		outcomes := map[string]Outcome{}
		for _, method := range each.methods {
			o, err := g.Ask(ctx, &wire.Request{Method: method, Path: PlainPath})
			if err != nil {
				return err
			}
			outcomes[method] = o
		}
		g.Add(decideMethods(each.fact, outcomes))
	}
	return nil
}

// decideMethods determines which methods are refused or changed. The response to a HEAD request does not contain the received method.
func decideMethods(name string, outcomes map[string]Outcome) Fact {
	var sent, received, refused, others []string
	for method, o := range outcomes {
		sent = append(sent, method)
		switch e := o.Described(); {
		case o.Refusal != "":
			refused = append(refused, method)
			received = append(received, method+": "+o.Refusal)
		case e != nil && e.Method != method:
			others = append(others, method)
			received = append(received, method+": "+e.Method)
		default:
			received = append(received, method)
		}
	}
	slices.Sort(sent)
	slices.Sort(received)
	value := Kept
	switch {
	case len(refused) > 0:
		value = "refused " + shortList(refused, maxList-len("refused "))
	case len(others) > 0:
		value = "changed " + shortList(others, maxList-len("changed "))
	}
	return NewFact(name, value, strings.Join(sent, " "), strings.Join(received, " "))
}

// examineVersions determines which HTTP version requests use when they arrive.
func examineVersions(ctx context.Context, g *Group) error {
	g.Add(NewFact("request.version", g.Known.Plain.Description.Proto, "HTTP/1.1", g.Known.Plain.Description.Proto))
	a, err := g.DoHTTP2(ctx, &wire.Request{Path: PlainPath})
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideHTTP2(a, err))
	if err == nil && !a.Proven {
		return g.Confirm(ctx)
	}
	return nil
}

func decideHTTP2(a *wire.Response, err error) Fact {
	switch {
	case err != nil:
		return NewFact("request.http2", No, "HTTP/2", "nothing: "+err.Error())
	case !a.Proven:
		return refusedFact("request.http2", "HTTP/2", a.Refusal())
	case a.Description == nil:
		return NewFact("request.http2", Yes, "HTTP/2", "")
	}
	return NewFact("request.http2", a.Description.Proto, "HTTP/2", a.Description.Proto)
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

func examinePaths(ctx context.Context, g *Group) error {
	g.Add(decidePrefix(g.Base, g.Known.Base))
	for _, probe := range pathProbes() {
		o, err := g.Ask(ctx, &wire.Request{Path: probe.path})
		if err != nil {
			return err
		}
		f := decidePath(probe, g.Known.Base, o)
		f.Detail = probe.detail
		g.Add(f)
	}
	return nil
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
func decidePath(probe pathProbe, base string, o Outcome) Fact {
	e := o.Described()
	if e == nil {
		return refusedFact(probe.fact, probe.path, o.Refusal)
	}
	received := strings.TrimPrefix(e.PathOnly(), base)
	value := Changed
	if form, ok := probe.forms[received]; ok {
		value = form
	}
	if received == probe.path {
		value = Kept
	}
	return NewFact(probe.fact, value, probe.path, received)
}

// oddQuery contains parameters that proxies might sort, merge, or drop.
const oddQuery = "b=2&a=1&a=&c&d=%2F%20+;e"

func decideQuery(o Outcome) Fact {
	const name, sent = "request.query", oddQuery
	e := o.Described()
	if e == nil {
		return refusedFact(name, sent, o.Refusal)
	}
	_, received, found := strings.Cut(e.Path, "?")
	value := Changed
	switch {
	case received == sent:
		value = Kept
	case !found:
		value = Dropped
	}
	return NewFact(name, value, sent, received)
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
	return g.Examine(ctx, &wire.Request{Method: "POST", Path: PlainPath, Chunked: true, Body: []byte("x"), Trailers: []wire.Field{sent},
		Fields: wire.Fields("Trailer", sent.Name)}, func(o Outcome) Fact {
		const name = "request.trailers"
		switch e := o.Described(); {
		case e == nil:
			return refusedFact(name, sent.String(), o.Refusal)
		case e.Request.Trailers.Get(sent.Name) == sent.Value:
			return NewFact(name, Kept, sent.String(), sent.String())
		}
		return NewFact(name, Dropped, sent.String(), "no trailer")
	})
}
