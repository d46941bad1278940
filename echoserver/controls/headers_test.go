package controls

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpguts"
)

func TestParseHeader(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Header
	}{
		"a name in lower case":      {"x-color:blue", Header{"X-Color", "blue"}},
		"spaces and tabs around":    {" \tx-a \t: \t1 \t", Header{"X-A", "1"}},
		"an empty value":            {"X-A:", Header{"X-A", ""}},
		"a colon in the value":      {"Location:https://example.com:8443/", Header{"Location", "https://example.com:8443/"}},
		"a name of marks":           {"!#$%&'*+-.^_`|~:1", Header{"!#$%&'*+-.^_`|~", "1"}},
		"a value beyond ASCII":      {"X-A:größe", Header{"X-A", "größe"}},
		"a value that is not UTF-8": {"X-A:\xff", Header{"X-A", "\xff"}},
		"JSON with a charset":       {"content-type:application/json; charset=utf-8", Header{"Content-Type", "application/json; charset=utf-8"}},
	} {
		got, err := parseHeader(c.text, Full)
		if err != nil || got != c.want {
			t.Errorf("%s: %q is %q, %v, want %q", name, c.text, got, err, c.want)
		}
	}
}

// TestCheckSyntax_rejectsControlCharacters puts each byte at the start, in the middle, and at the end of a value.
func TestCheckSyntax_rejectsControlCharacters(t *testing.T) {
	for b := range 256 {
		isControl := b < 0x20 && b != '\t' || b == 0x7f
		for _, value := range []string{string([]byte{byte(b)}), "x" + string([]byte{byte(b)}) + "y", "x" + string([]byte{byte(b)})} {
			err := checkSyntax(Header{"X-A", value})
			if (err != nil) != isControl {
				t.Errorf("%q: %v, want an error: %t", value, err, isControl)
			}
			if err != nil && err.Error() != "the value of X-A contains a control character" {
				t.Errorf("%q: the reason is %v", value, err)
			}
		}
	}
}

func TestCheckMediaType(t *testing.T) {
	for text, allowed := range map[string]bool{
		"application/json": true, "application/problem+json": true, "application/octet-stream": true, "text/csv": true, "text/plain": true,
		"Text/Plain": true, "text/plain;charset=iso-8859-1": true, `text/plain; charset="utf-8"`: true, "text/plain ; CHARSET=utf-8": true,
		"text/plain;": true,
		"":            false, "text": false, "text/": false, "/plain": false, "text/html": false, "text/xml": false, "text/javascript": false,
		"text/css":      false,
		"image/svg+xml": false, "application/xhtml+xml": false, "application/pdf": false, "application/wasm": false,
		"multipart/x-mixed-replace": false,
		"text/event-stream":         false, "application/json-seq": false, "application/ld+json": false, "text/*": false, "*/*": false,
		"text/plain, text/html": false, "text/plain; x=y": false, "text/plain; charset=utf-8; x=y": false, "text/plain; charset": false,
		"text/plain; charset=a; charset=b": false, "text/html; charset=text/plain": false,
	} {
		err := checkMediaType(text)
		if (err == nil) != allowed {
			t.Errorf("%q: %v, want it allowed: %t", text, err, allowed)
		}
		if want := "is not one of application/json, application/problem+json, application/octet-stream, text/csv, text/plain"; err != nil &&
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: the reason is %v", text, err)
		}
	}
}

// TestSplitHeaders splits several lists. FuzzSplitHeaders splits single ones.
func TestSplitHeaders(t *testing.T) {
	for name, c := range map[string]struct{ lists, want []string }{
		"none":                {nil, nil},
		"two headers":         {[]string{"A:1", "B:2,C:3"}, []string{"A:1", "B:2", "C:3"}},
		"the rest of a value": {[]string{"A:1", "2"}, []string{"A:1,2"}},
	} {
		if diff := cmp.Diff(c.want, splitHeaders(c.lists)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzSplitHeaders compares splitHeaders with a simpler implementation.
func FuzzSplitHeaders(f *testing.F) {
	for _, seed := range []string{"", "A:1", "A:1, B:2", "A:1,2,B:3", "Date:Mon, 02 Jan 10:00", "Via:1.1 a:80, 1.1 b:80,X-B:2", "x,A:1",
		"A:b,,,,", ",:", "A:1,b c:2,C:3", "A:1,:2", "A::,B:", `A:"1,2",B:3`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if len(list) > maxSetBytes {
			return
		}
		var want []string
		for part := range strings.SplitSeq(list, ",") {
			name, _, isHeader := strings.Cut(part, ":")
			if isHeader && httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) || len(want) == 0 {
				want = append(want, part)
			} else {
				want[len(want)-1] += "," + part
			}
		}
		if diff := cmp.Diff(want, splitHeaders([]string{list})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	})
}

func FuzzControls(f *testing.F) {
	for _, seed := range []string{"echo.status=503&echo.delay=0s", "echo.set-header=X-A:%201", "echo.size=5&echo.format=text",
		"%65cho.status=1", "echo.set-header=a:%0a"} {
		f.Add(seed, "X-A: 1, X-B: 2")
	}
	f.Fuzz(func(t *testing.T, query, list string) {
		r := &http.Request{URL: &url.URL{RawQuery: query}, Header: http.Header{"X-Echo-Set-Header": {list}}}
		wanted, err := Controls{}.with(r, Full, Echo)
		if err != nil {
			return
		}
		if status := wanted.StatusOrOK(); status < 200 || status > 599 || wanted.Delay < 0 || wanted.Delay > MaxDelay {
			t.Errorf("accepted: %+v", wanted)
		}
		if size := wanted.Size; size != nil && (*size < 0 || *size > MaxSize) {
			t.Errorf("the size %d is accepted", *size)
		}
		for _, each := range wanted.Headers {
			if err := errors.Join(checkSyntax(each), checkFraming(each.Name), checkTrust(each.Name)); err != nil {
				t.Errorf("%+v is accepted: %v", each, err)
			}
		}
	})
}
