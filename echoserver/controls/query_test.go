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

func TestAcceptedFormat(t *testing.T) {
	for accept, want := range map[string]format{
		"":                   JSON,
		"*/*":                JSON,
		"application/json":   JSON,
		"text/plain":         Text,
		"text/html":          HTML,
		"text/*":             Text,
		"TEXT/HTML":          HTML,
		"image/png":          JSON,
		"text/html, */*":     JSON,
		"text/html;q=0, */*": JSON,
		"text/html;q=0.9, application/json;q=0.8":                         HTML,
		"text/html ; q=0.9 , text/plain ; q=0.95":                         Text,
		"application/json, text/plain, */*":                               JSON,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": HTML, // Firefox
		// Chromium
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7": HTML,
		"text/html;q=nonsense, text/plain;q=0.1":   Text,
		"text/html;q=NaN":                          JSON,
		"text/html;level=1;q=0.4, text/plain;q=.3": HTML,
	} {
		if got := AcceptedFormat([]string{accept}); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := AcceptedFormat([]string{"text/plain;q=0.5", "text/html"}); got != HTML {
		t.Errorf("two headers: %s", got)
	}
}
