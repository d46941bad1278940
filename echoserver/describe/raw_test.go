package describe

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRawList_AddFields(t *testing.T) {
	one := func(value string) map[string][]string { return map[string][]string{"A": {value}} }
	listed := func(value string) RawList { return RawList{{Where: "w", Name: "A", Base64: []byte(value)}} }
	for name, c := range map[string]struct {
		fields, shown map[string][]string
		want          RawList
	}{
		"UTF-8":                {map[string][]string{"A": {"é", "\uFFFD", ""}}, map[string][]string{"A": {"é", "\uFFFD", ""}}, nil},
		"Latin-1":              {one("caf\xe9"), one("caf\uFFFD"), listed("caf\xe9")},
		"an overlong slash":    {one("\xc0\xaf"), one("\uFFFD"), listed("\xc0\xaf")},
		"half of a character":  {one("\xe2\x82"), one("\uFFFD"), listed("\xe2\x82")},
		"UTF-16 with its mark": {one("\xff\xfea\x00"), one("\uFFFDa\x00"), listed("\xff\xfea\x00")},
		"the second value": {map[string][]string{"A": {"a", "\xe9", "b"}}, map[string][]string{"A": {"a", "\uFFFD", "b"}},
			RawList{{Where: "w", Name: "A", Index: 1, Base64: []byte("\xe9")}}},
		"sorted by name": {map[string][]string{"B": {"\xe9"}, "A": {"\xe8"}}, map[string][]string{"A": {"\uFFFD"}, "B": {"\uFFFD"}},
			RawList{{Where: "w", Name: "A", Base64: []byte("\xe8")}, {Where: "w", Name: "B", Base64: []byte("\xe9")}}},
		"names that look the same": {map[string][]string{"\xfe": {"\xe9"}, "\xff": {"2", "\xe8"}, "\uFFFD": {"4"}},
			map[string][]string{"\uFFFD": {"4", "\uFFFD", "2", "\uFFFD"}},
			RawList{{Where: "w", Name: "\uFFFD", Index: 1, Base64: []byte("\xe9")}, {Where: "w", Name: "\uFFFD", Index: 3, Base64: []byte("\xe8")}}},
	} {
		var list RawList
		shown := list.AddFields("w", c.fields)
		if diff := cmp.Diff(c.want, list); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.shown, shown); diff != "" {
			t.Errorf("%s: the shown values (-want +got):\n%s", name, diff)
		}
	}
}

func TestRawList_bound(t *testing.T) {
	var list RawList
	for i := range maxRaw {
		list.AddFields("query", map[string][]string{fmt.Sprint(i): {"\xff", "\xfe"}})
	}
	list.Add(Raw{Where: "path"}, "\xff")
	if len(list) != maxRaw || list[maxRaw-1].Index != 1 {
		t.Errorf("%d values are listed, the last is %+v", len(list), list[maxRaw-1])
	}
}

// FuzzRaw describes arbitrary requests, and checks that the shown values and the list suffice to restore the original values.
func FuzzRaw(f *testing.F) {
	f.Add("/caf\xe9", "X-Name", "caf\xe9", "q=caf%E9&q=%E8&q=2")
	f.Add("/", "\xff", "\uFFFD", "\xff=\xfe&\uFFFD=1&%ff&")
	f.Fuzz(func(t *testing.T, path, name, value, query string) {
		values, _ := url.ParseQuery(query)
		r := &http.Request{RequestURI: path, URL: &url.URL{RawQuery: query}, Header: http.Header{name: {"a", value}}}
		a := Response{Path: path, Headers: r.Header, Request: Request{Query: values}}
		if strings.Count(query, "&") >= maxParameters {
			return // Describe does not parse that many parameters
		}
		a.listRaw()
		if len(a.Request.Raw) > mostRaw(r) {
			t.Errorf("%d are listed, at most %d are expected", len(a.Request.Raw), mostRaw(r))
		}
		if got := restored(a.Request.Raw, "path", "", []string{ValidText(path)})[0]; got != path {
			t.Errorf("the path is restored as %q", got)
		}
		if diff := cmp.Diff([]string{"a", value}, restored(a.Request.Raw, "header", ValidText(name), a.Headers[ValidText(name)])); diff != "" {
			t.Errorf("the header (-sent +restored):\n%s", diff)
		}
		for parameter, sent := range values {
			shown := restored(a.Request.Raw, "query", ValidText(parameter), a.Request.Query[ValidText(parameter)])
			if !strings.Contains(ValidText(parameter), "\uFFFD") && !cmp.Equal(sent, shown) {
				t.Errorf("the parameter %q: sent are %q, restored %q", parameter, sent, shown)
			}
		}
		if text := string(a.Text()); !utf8.ValidString(text) {
			t.Errorf("the text is not UTF-8: %q", text)
		}
	})
}

// restored returns the shown values of a name with their original bytes from the list.
func restored(list RawList, where, name string, shown []string) []string {
	values := slices.Clone(shown)
	for _, raw := range list {
		if raw.Where == where && raw.Name == name {
			values[raw.Index] = string(raw.Base64)
		}
	}
	return values
}
