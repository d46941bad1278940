package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTraceparent(t *testing.T) {
	const trace1, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]*Trace{
		"00-" + trace1 + "-" + parent + "-01":                   {Version: "00", TraceID: trace1, ParentID: parent, Sampled: true},
		"00-" + trace1 + "-" + parent + "-02":                   {Version: "00", TraceID: trace1, ParentID: parent},
		"cc-" + trace1 + "-" + parent + "-01-what-comes":        {Version: "cc", TraceID: trace1, ParentID: parent, Sampled: true},
		"00-" + trace1 + "-" + parent + "-01-more":              nil,
		"ff-" + trace1 + "-" + parent + "-01":                   nil,
		"00-00000000000000000000000000000000-" + parent + "-01": nil,
		"00-" + trace1 + "-0000000000000000-01":                 nil,
		"00-0AF7651916CD43DD8448EB211C80319C-" + parent + "-01": nil,
		"00-" + trace1 + "-" + parent:                           nil,
		"00-" + trace1 + "-" + parent + "-1":                    nil,
		"":                                                      nil,
		"00-" + trace1[1:] + "-" + parent + "-01":               nil,
	} {
		if diff := cmp.Diff(want, parseTraceparent([]string{text})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if parseTraceparent(nil) != nil ||
		parseTraceparent([]string{"00-" + trace1 + "-" + parent + "-01", "00-" + trace1 + "-" + parent + "-01"}) != nil {
		t.Error("no value or two values are mistaken for one")
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseTraceparent([]string{text}); got != nil && (len(got.TraceID) != 32 || len(got.ParentID) != 16 || len(text) < 55) {
			t.Errorf("%q is %+v", text, got)
		}
	})
}
