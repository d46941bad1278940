package pathcheck

import (
	"context"
	"strings"
)

// pathProbe is a path that the way could change. All are below the path of the Echo, whatever is done to their dot segments.
type pathProbe struct {
	fact, path string
	forms      map[string]string // what a changed path means
	meaning    string
	detail     bool
}

func pathProbes() []pathProbe {
	const under = plainPath + "/"
	return []pathProbe{
		{"request.path.encodedSlash", under + "a%2Fb", map[string]string{under + "a/b": "decoded", under + "a%252Fb": "encoded twice"},
			"whether an escaped slash remains one segment; names such as those of branches and images have it", false},
		{"request.path.encoding", under + "%7Ea%41", map[string]string{under + "~aA": "decoded"},
			"whether characters remain escaped that need not be", true},
		{"request.path.dots", under + "a/../b", map[string]string{under + "b": "resolved"},
			"whether dot segments arrive; a way that decides by the path must resolve them as the application does", false},
		{"request.path.encodedDots", under + "a/%2e%2e/b", map[string]string{under + "b": "resolved", under + "a/../b": "decoded"},
			"the same for escaped dots", false},
		{"request.path.doubleSlash", under + "a//b", map[string]string{under + "a/b": "merged"}, "whether two slashes remain two", false},
		{"request.path.case", under + "aB%c3%a9", map[string]string{under + "aB%C3%A9": "escapes in upper case", under + "ab%c3%a9": "lower"},
			"whether the case of letters and of escapes remains", false},
		{"request.path.parameters", under + "a;v=1/b", map[string]string{under + "a/b": dropped}, "whether parameters of a segment remain", true},
	}
}

func examinePaths(ctx context.Context, g *group) error {
	g.add(decidePrefix(g.base, g.known.base))
	for _, probe := range pathProbes() {
		o, err := g.ask(ctx, &request{path: probe.path})
		if err != nil {
			return err
		}
		f := decidePath(probe, g.known.base, o)
		f.Detail = probe.detail
		g.add(f)
	}
	return nil
}

func decidePrefix(sent, received string) Fact {
	value := changed
	switch received {
	case sent:
		value = kept
	case "":
		value = "removed"
	}
	return newFact("request.path.prefix", value, sent+"/", received+"/", "whether the path of the URL arrives before that of a request")
}

// decidePath compares a path with what arrived of it below the path that the Echo has behind the way.
func decidePath(probe pathProbe, base string, o outcome) Fact {
	e := o.echoed()
	if e == nil {
		return refusedFact(probe.fact, probe.path, o.refusal, probe.meaning)
	}
	received := strings.TrimPrefix(e.Path, base)
	value := changed
	if form, ok := probe.forms[received]; ok {
		value = form
	}
	if received == probe.path {
		value = kept
	}
	return newFact(probe.fact, value, probe.path, received, probe.meaning)
}
