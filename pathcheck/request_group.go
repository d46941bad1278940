package pathcheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// examineRequest examines what happens to a request without a body.
func examineRequest(ctx context.Context, g *group) error {
	return g.each(ctx, examineMethods, examineVersions, examinePaths, examineQuery, examineHost, examineHeaders, examineUnderscores, examineBytes,
		examineTrailers, examineHeaderLimits)
}

func examineMethods(ctx context.Context, g *group) error {
	for _, each := range []struct {
		fact, meaning string
		methods       []string
	}{
		{"request.method", "whether the methods of applications arrive", []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}},
		{"request.methodOther", "whether other methods arrive, of diagnosis, of WebDAV and unknown ones", []string{"TRACE", "PROPFIND", "BREW"}},
	} {
		outcomes := map[string]outcome{}
		for _, method := range each.methods {
			o, err := g.ask(ctx, &request{method: method, path: plainPath})
			if err != nil {
				return err
			}
			outcomes[method] = o
		}
		g.add(decideMethods(each.fact, each.meaning, outcomes))
	}
	return nil
}

// decideMethods tells which methods are refused or changed. The response to HEAD does not tell the method.
func decideMethods(name, meaning string, outcomes map[string]outcome) Fact {
	var sent, received, refused, others []string
	for method, o := range outcomes {
		sent = append(sent, method)
		switch e := o.echoed(); {
		case o.refusal != "":
			refused = append(refused, method)
			received = append(received, method+": "+o.refusal)
		case e != nil && e.Method != method:
			others = append(others, method)
			received = append(received, method+": "+e.Method)
		default:
			received = append(received, method)
		}
	}
	slices.Sort(sent)
	slices.Sort(received)
	value := kept
	switch {
	case len(refused) > 0:
		value = "refused " + shortList(refused, maxValue-len("refused "))
	case len(others) > 0:
		value = "changed " + shortList(others, maxValue-len("changed "))
	}
	return newFact(name, value, strings.Join(sent, " "), strings.Join(received, " "), meaning)
}

// shortList returns names, or their number if they are too long.
func shortList(names []string, length int) string {
	text := listed(names)
	if len(text) > length {
		return fmt.Sprintf("%d #%s", len(names), digestOf(text))
	}
	return text
}

// examineVersions finds out by which version of HTTP requests arrive.
func examineVersions(ctx context.Context, g *group) error {
	g.add(newFact("request.version", g.known.plain.echo.Proto, "HTTP/1.1", g.known.plain.echo.Proto,
		"the version of HTTP by which a request of HTTP/1.1 arrives; behind HTTP/1.0 there are no chunks, and no connections that remain open"))
	a, err := g.doHTTP2(ctx, &request{path: plainPath})
	if ended := over(ctx, err); ended != nil {
		return ended
	}
	g.add(decideHTTP2(a, err))
	if err == nil && !a.proven {
		return g.confirm(ctx)
	}
	return nil
}

func decideHTTP2(a *answer, err error) Fact {
	const meaning = "whether the way takes HTTP/2, and by which version such a request arrives"
	switch {
	case err != nil:
		return newFact("request.http2", no, "HTTP/2", "nothing: "+err.Error(), meaning)
	case !a.proven:
		return refusedFact("request.http2", "HTTP/2", a.refusal(), meaning)
	case a.echo == nil:
		return newFact("request.http2", yes, "HTTP/2", "", meaning)
	}
	return newFact("request.http2", a.echo.Proto, "HTTP/2", a.echo.Proto, meaning)
}

// queries has what the way could sort, merge or drop.
const oddQuery = "b=2&a=1&a=&c&d=%2F%20+;e"

func examineQuery(ctx context.Context, g *group) error {
	return g.examine(ctx, &request{path: plainPath + "?" + oddQuery}, decideQuery)
}

func decideQuery(o outcome) Fact {
	const name, sent, meaning = "request.query", oddQuery, "whether the query arrives as it was sent, duplicates, order and escapes included"
	e := o.echoed()
	if e == nil {
		return refusedFact(name, sent, o.refusal, meaning)
	}
	_, received, found := strings.Cut(e.Path, "?")
	value := changed
	switch {
	case received == sent:
		value = kept
	case !found:
		value = dropped
	}
	return newFact(name, value, sent, received, meaning)
}

func examineHost(_ context.Context, g *group) error {
	g.add(decideHost(g.host, g.known.plain.echo))
	return nil
}

func decideHost(sent string, e *echo) Fact {
	value := changed
	if e.Host == sent {
		value = kept
	}
	return newFact("request.host", value, "Host: "+sent, "Host: "+e.Host,
		"whether the host of the URL arrives, by which an application makes links to itself; X-Forwarded-Host may have it instead")
}

// examineTrailers sends a field after the body.
func examineTrailers(ctx context.Context, g *group) error {
	sent := field{"X-Pathcheck-Sum", "1"}
	r := &request{method: "POST", path: plainPath, chunked: true, body: []byte("x"), trailers: []field{sent}}
	r.fields = []field{{"Trailer", sent.name}}
	return g.examine(ctx, r, func(o outcome) Fact { return decideTrailers(sent, o) })
}

func decideTrailers(sent field, o outcome) Fact {
	const name, meaning = "request.trailers", "whether a field after the body arrives, such as the status of a call of gRPC"
	e := o.echoed()
	if e == nil {
		return refusedFact(name, sent.String(), o.refusal, meaning)
	}
	received := e.Request.Trailers.Get(sent.name)
	if received == sent.value {
		return newFact(name, kept, sent.String(), sent.String(), meaning)
	}
	return newFact(name, dropped, sent.String(), "no trailer", meaning)
}
