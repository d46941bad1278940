package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpectation_Met(t *testing.T) {
	for text, c := range map[string]struct {
		value string
		want  bool
	}{
		"a=kept": {"kept", true}, " a = kept ": {"kept", true},
		"a=no": {"yes", false}, "a=yes|no": {"no", true}, "a= TLS 1.2 | TLS 1.3 ": {"TLS 1.3", true},
		"a!=yes": {"no", true}, "a!=yes|no": {"no", false}, "a=X-A,X-B": {"X-A,X-B", true}, "a=X-A,X-C": {"X-A", false},
		"a>=10Mi": {"16Mi", true}, "a>=11Mi ": {"10Mi", false}, "a>=14": {"14", true}, "a<=3": {"4", false}, "a<=4": {"4", true},
		"a>= -1": {"-2", false}, "a>=1": {"many", false}, "a>=3000000000": {"4000000000", true}, "a=>30s": {">30s", true},
		"a>=512Ki": {"1Mi", true}, "a=refused 405": {"refused 405", true},
		"a<=50ms": {"12.34ms", true}, "a<=9ms": {"12.34ms", false}, "a>=30s": {">30s", true}, "a<=30s": {">30s", false},
		"a>=1s": {"5", false}, "a<=5": {"1s", false},
		"client.spoofable[X-Real-IP]=a=b": {"a=b", true}, "a==": {"=", true},
		"tls.cipher!=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", false},
	} {
		e, err := ParseExpectation(text)
		if err != nil || e.Met(c.value) != c.want {
			t.Errorf("%s for %s: %+v, %v", text, c.value, e, err)
		}
		if again, err := ParseExpectation(e.String()); err != nil || !cmp.Equal(again, e) {
			t.Errorf("%s is %+v, but %s is %+v, %v", text, e, e, again, err)
		}
	}
	if e := (Expectation{Fact: "a", Values: []string{"b"}}); !e.Met("b") || e.Met("c") || e.String() != "a=b" {
		t.Errorf("without an operator, an expectation is %s", e)
	}
}

func TestParseExpectation_rejectsInvalidText(t *testing.T) {
	for text, want := range map[string]string{
		"": "such as client.address=kept", "a": "such as client.address=kept", "a>10Mi": "such as client.address=kept",
		"a=": "is empty", "a=b|": "is empty", "a=ä": "printable ASCII", "a=b\nc": "printable ASCII",
		"=b": "not the name of a fact", "a b=c": "not the name of a fact", "a[b=c": "not the name of a fact",
		"a<>=1": "not the name of a fact", strings.Repeat("a", 129) + "=b": "not the name of a fact",
		"a>=1|2": "exactly one value", "a>=many": "whole number", "a<=": "whole number", "a>=10MiKi": "whole number", "a>=10sKi": "whole number",
		"a<=many s": "whole number", "a>=99999999999": "whole number", "a>=1.5": "whole number", "a>=1h30m": "whole number",
		"a=>=10Mi": "is a bound", "a=>10Mi": "is a bound", "a==>10Mi": "is a bound", "a=< 3": "is a bound", "a!=b|<=3": "is a bound",
	} {
		if e, err := ParseExpectation(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v; want %q", text, e, err, want)
		}
	}
}

func TestExpectation_Validate(t *testing.T) {
	for want, e := range map[string]Expectation{
		`the operator "Between" is not In, NotIn, AtLeast, or AtMost`: {Fact: "a", Operator: "Between", Values: []string{"1"}},
		"AtLeast requires exactly one value":                          {Fact: "a", Operator: AtLeast},
		`the value "a|b" is empty, begins or ends with a space, or contains | or characters other than printable ASCII`: {
			Fact: "a", Values: []string{"c", "a|b"}},
		`"" is not a whole number with an optional unit, such as 14, 10Mi, or 30s`: {Fact: "a", Operator: AtMost, Values: []string{""}},
	} {
		if err := e.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}

func TestExpectation_Exists(t *testing.T) {
	for fact, want := range map[string]string{
		"client.address": "", "client.spoofable[X-Real-IP]": "", "outlierDetection": "",
		"client.adress":         `there is no fact "client.adress": the documentation lists the facts, such as client.address, client.`,
		"client.adress[a]":      `there is no fact "client.adress[a]": the documentation lists the facts, such as client.address, client.`,
		"outlierDetection.pods": `there is no fact "outlierDetection.pods": the documentation lists the facts, such as outlierDetection`,
		"bodies.max":            `there is no fact "bodies.max": the documentation lists the facts, such as client.address`,
	} {
		if err := (Expectation{Fact: fact}).Exists(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fact, err, want)
		}
	}
}

func TestExpectation_Want(t *testing.T) {
	for text, want := range map[string]string{"a=b": "b", "a=b|c": "b|c", "a!=b|c": "!=b|c", "a==b": "=b", "a>=1": ">=1", "a<=2s": "<=2s"} {
		if e, err := ParseExpectation(text); err != nil || e.Want() != want {
			t.Errorf("%s wants %q, %v", text, e.Want(), err)
		}
	}
}
