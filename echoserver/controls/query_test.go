package controls

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueryControls(t *testing.T) {
	for query, want := range map[string]url.Values{
		"": nil, "a=b&c": nil, "xecho.a=1": nil, "e": nil, "echo": nil, "ECHO.a=1": nil, "%": nil, "%6": nil, "%zz=1": nil, "echo%": nil,
		"a&&&":                                 nil,
		"echo.a=1":                             {"a": {"1"}},
		"echo.=1":                              {"": {"1"}},
		"echo.a":                               {"a": {""}},
		"&&echo.a=1&&echo.b=2&echo.a=3":        {"a": {"1", "3"}, "b": {"2"}},
		"%65%63%68%6F%2E%61=%31":               {"a": {"1"}},
		"ec%68o.a=b+c=d":                       {"a": {"b c=d"}},
		"x=%zz&y=1;2&echo.a=1":                 {"a": {"1"}},
		strings.Repeat("a&", 20000) + "echo.a": {"a": {""}},
	} {
		got, err := queryControls(query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%.40q: %v (-want +got):\n%s", query, err, diff)
		}
	}
	for _, query := range []string{"echo.a=1;2", "echo.a=%zz", "echo.a%=1", "a&%65cho.a=%"} {
		if got, err := queryControls(query); err == nil {
			t.Errorf("%q is parsed as %v", query, got)
		}
	}
}

// FuzzControlsIn compares the controls that queryControls and net/url find.
func FuzzControlsIn(f *testing.F) {
	for _, seed := range []string{"echo.a=1&b", "%65cho.a=1", "a&&echo.a=%20&echo.a=+", "echo.%61"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		parsed, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var want url.Values
		for name, values := range parsed {
			if short, ok := strings.CutPrefix(name, queryPrefix); ok {
				if want == nil {
					want = url.Values{}
				}
				want[short] = values
			}
		}
		got, err := queryControls(query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", query, err, diff)
		}
	})
}
