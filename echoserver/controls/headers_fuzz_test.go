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

// FuzzSplitHeaders compares splitHeaders with a simpler implementation.
func FuzzSplitHeaders(f *testing.F) {
	for _, seed := range []string{"A:1,B:2", "x,A:1", "A:b,,,,", ",:", "A:1,b c:2,C:3", "A::,B:"} {
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
		wanted, err := Controls{}.with(r, Full)
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
