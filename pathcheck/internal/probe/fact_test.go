package probe

import (
	"slices"
	"strings"
	"testing"
)

func TestNew_bounded(t *testing.T) {
	f := NewFact("a", strings.Repeat("v", 1000)+"\n", "\x1b[31m"+strings.Repeat("s", 10_000), "\u202e<b>")
	if len(f.Value) > MaxValue || len(f.Sent) > MaxText || strings.ContainsAny(f.Sent+f.Received+f.Value, "\x1b\n\u202e") {
		t.Errorf("the fact is %+v", f)
	}
	other := NewFact("a", strings.Repeat("v", 1001)+"\n", "", "")
	if f.Value == other.Value {
		t.Error("two long values cannot be distinguished")
	}
	if got := Listed(slices.Repeat([]string{"b", "a"}, 3)); got != "a,b" {
		t.Errorf("the list is %q", got)
	}
}
