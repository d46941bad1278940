package controls

import (
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
