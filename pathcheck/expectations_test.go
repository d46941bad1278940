package pathcheck

import (
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

func TestParseExpectation(t *testing.T) {
	for text, c := range map[string]struct {
		value string
		want  bool
	}{
		"a=kept": {probe.Kept, true}, "a=no": {probe.Yes, false}, "a=>=10Mi": {"16Mi", true}, "a=>=11Mi ": {"10Mi", false},
		"a=>=14": {"14", true}, "a=<=3": {"4", false},
		"a=<=4": {"4", true}, "a=>=1": {"many", false}, "a=>=3000000000": {"4000000000", true}, "a=>30s": {">30s", true},
		"a=>=512Ki": {"1Mi", true}, "a=refused 405": {"refused 405", true},
		"a=<=50ms": {"12.34ms", true}, "a=<=9ms": {"12.34ms", false}, "a=>=30s": {">30s", true}, "a=<=30s": {">30s", false},
		"a=>=1s": {"5", false}, "a=<=5": {"1s", false},
	} {
		e, err := ParseExpectation(text)
		got := e.judge(&Report{Facts: []probe.Fact{{Name: "a", Value: c.value}}})
		if err != nil || got.OK != c.want || got.Got != c.value {
			t.Errorf("%s for %s: %+v, %v", text, c.value, got, err)
		}
	}
	for _, text := range []string{"", "a", "a=", "=b", "a b=c", "a=>=many", "a=<=", "a=>10Mi", "a=< 3", "a=>=10MiKi", "a=>=10sKi",
		"a=<=many s", "a=>=99999999999"} {
		if e, err := ParseExpectation(text); err == nil {
			t.Errorf("%q is parsed as %v", text, e)
		}
	}
	if got := (Expectation{"b", probe.Kept}).judge(&Report{}); got.OK || got.Got != "" {
		t.Errorf("an unknown fact: %+v", got)
	}
}
