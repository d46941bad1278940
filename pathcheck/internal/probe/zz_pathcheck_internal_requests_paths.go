package probe

import (
	"context"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

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
		return Refused(probe.fact, probe.path, o.Refusal)
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
