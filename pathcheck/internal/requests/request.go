package requests

import (
	"context"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

func ExamineRequest(ctx context.Context, g *run.Group) error {
	return g.Each(ctx, examineMethods, examineVersions, examinePaths, examineQuery, examineHost, examineHeaders, examineUnderscores,
		examineBytes,
		examineTrailers, examineHeaderLimits)
}

func examineMethods(ctx context.Context, g *run.Group) error {
	for _, each := range []struct {
		fact    string
		methods []string
	}{
		{"request.method", []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{"request.methodOther", []string{"TRACE", "PROPFIND", "BREW"}},
	} {
		outcomes := map[string]run.Outcome{}
		for _, method := range each.methods {
			o, err := g.Ask(ctx, &wire.Request{Method: method, Path: run.PlainPath})
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
func decideMethods(name string, outcomes map[string]run.Outcome) fact.Fact {
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
	value := fact.Kept
	switch {
	case len(refused) > 0:
		value = "refused " + fact.ShortList(refused, fact.MaxValue-len("refused "))
	case len(others) > 0:
		value = "changed " + fact.ShortList(others, fact.MaxValue-len("changed "))
	}
	return fact.New(name, value, strings.Join(sent, " "), strings.Join(received, " "))
}

// examineVersions determines which HTTP version requests use when they arrive.
func examineVersions(ctx context.Context, g *run.Group) error {
	g.Add(fact.New("request.version", g.Known.Plain.Description.Proto, "HTTP/1.1", g.Known.Plain.Description.Proto))
	a, err := g.DoHTTP2(ctx, &wire.Request{Path: run.PlainPath})
	if ended := run.Over(ctx, err); ended != nil {
		return ended
	}
	g.Add(decideHTTP2(a, err))
	if err == nil && !a.Proven {
		return g.Confirm(ctx)
	}
	return nil
}

func decideHTTP2(a *wire.Response, err error) fact.Fact {
	switch {
	case err != nil:
		return fact.New("request.http2", fact.No, "HTTP/2", "nothing: "+err.Error())
	case !a.Proven:
		return fact.Refused("request.http2", "HTTP/2", a.Refusal())
	case a.Description == nil:
		return fact.New("request.http2", fact.Yes, "HTTP/2", "")
	}
	return fact.New("request.http2", a.Description.Proto, "HTTP/2", a.Description.Proto)
}

// oddQuery contains parameters that proxies might sort, merge, or drop.
const oddQuery = "b=2&a=1&a=&c&d=%2F%20+;e"

func examineQuery(ctx context.Context, g *run.Group) error {
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath + "?" + oddQuery}, decideQuery)
}

func decideQuery(o run.Outcome) fact.Fact {
	const name, sent = "request.query", oddQuery
	e := o.Described()
	if e == nil {
		return fact.Refused(name, sent, o.Refusal)
	}
	_, received, found := strings.Cut(e.Path, "?")
	value := fact.Changed
	switch {
	case received == sent:
		value = fact.Kept
	case !found:
		value = fact.Dropped
	}
	return fact.New(name, value, sent, received)
}

func examineHost(_ context.Context, g *run.Group) error {
	g.Add(decideHost(g.Host, g.Known.Plain.Description))
	return nil
}

func decideHost(sent string, e *wire.Description) fact.Fact {
	value := fact.Changed
	if e.Host == sent {
		value = fact.Kept
	}
	return fact.New("request.host", value, "Host: "+sent, "Host: "+e.Host)
}

// examineTrailers sends a trailer field after the body.
func examineTrailers(ctx context.Context, g *run.Group) error {
	sent := wire.Field{Name: "X-Pathcheck-Sum", Value: "1"}
	r := &wire.Request{Method: "POST", Path: run.PlainPath, Chunked: true, Body: []byte("x"), Trailers: []wire.Field{sent}}
	r.Fields = wire.Fields("Trailer", sent.Name)
	return g.Examine(ctx, r, func(o run.Outcome) fact.Fact { return decideTrailers(sent, o) })
}

func decideTrailers(sent wire.Field, o run.Outcome) fact.Fact {
	const name = "request.trailers"
	e := o.Described()
	if e == nil {
		return fact.Refused(name, sent.String(), o.Refusal)
	}
	received := e.Request.Trailers.Get(sent.Name)
	if received == sent.Value {
		return fact.New(name, fact.Kept, sent.String(), sent.String())
	}
	return fact.New(name, fact.Dropped, sent.String(), "no trailer")
}
