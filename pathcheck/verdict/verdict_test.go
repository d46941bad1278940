package verdict

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode_readsEncodedVerdict(t *testing.T) {
	want := Verdict{Facts: 3, Problem: "no response", Silent: SilentAll, Address: "a:80",
		Failed:  []Unmet{{Name: "client.address", Want: "replaced", Got: "kept"}},
		Unknown: []Unknown{{Name: "body.max", Reason: "errors"}}, Unfinished: DeadlinePassed}
	got, err := Decode(string(want.Encode()))
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
}

func TestEncode_omitsFailuresBeyondMaxSize(t *testing.T) {
	for _, c := range []struct{ name, want, fit int }{{64, 32, 16}, {MaxName, MaxText, 6}} {
		v := Verdict{Facts: 64, Problem: strings.Repeat("<", MaxText)}
		for i := range 64 { // the maximum number of expectations
			v.Failed = append(v.Failed,
				Unmet{Name: fmt.Sprintf("%s%02d", strings.Repeat("n", c.name-2), i), Want: strings.Repeat("a", c.want), Got: "b"})
		}
		v.Unknown = []Unknown{{Name: "a", Reason: "errors"}} // dropped first
		data := v.Encode()
		short, err := Decode(string(data))
		if err != nil || len(data) > maxSize || len(short.Failed) < c.fit || len(short.Unknown) > 0 || short.Failed[0] != v.Failed[0] ||
			len(v.Failed) != 64 {
			t.Errorf("%v: %d bytes, %d failures", err, len(data), len(short.Failed))
		}
	}
}

// TestEncode_keepsAnUnknownExpectation checks that a verdict that is too long does not become a verdict without unknown expectations.
func TestEncode_keepsAnUnknownExpectation(t *testing.T) {
	v := Verdict{Facts: 1, Unfinished: strings.Repeat("<", MaxText)}
	for range 64 {
		v.Unknown = append(v.Unknown, Unknown{Name: strings.Repeat("n", MaxName), Reason: strings.Repeat("<", MaxText)})
	}
	short, err := Decode(string(v.Encode()))
	if err != nil || len(short.Unknown) < 1 || len(v.Encode()) > maxSize {
		t.Errorf("%v: %d bytes, %d unknown", err, len(v.Encode()), len(short.Unknown))
	}
}

// TestDecode_rejectsInvalidMessages decodes messages that pods other than a check's pod could write.
func TestDecode_rejectsInvalidMessages(t *testing.T) {
	for message, want := range map[string]string{
		"":                        "not a verdict in JSON",
		"panic: out of memory":    "not a verdict in JSON",
		`[]`:                      "not a verdict in JSON",
		`{"facts":{"a":"b"}}`:     "not a verdict in JSON",
		strings.Repeat("x", 5000): "more than 4096 bytes",
		`{}`:                      "no facts",
		`{"facts":-1}`:            "no facts",
		`{"facts":1,"failed":[{"name":"` + strings.Repeat("n", MaxName+1) + `","want":"x"}]}`: "name is not valid",
		`{"facts":1,"failed":[{"name":"<b>","want":"x"}]}`:                                    "name is not valid",
		`{"facts":1,"failed":[{"name":"a","want":"x\u001b[31m"}]}`:                            "not printable",
		`{"facts":1,"unknown":[{"name":"<b>","reason":"x"}]}`:                                 "name is not valid",
		`{"facts":1,"unknown":[{"name":"a","reason":"x\u001b[31m"}]}`:                         "not printable",
		`{"facts":1,"unfinished":"\u202ex"}`:                                                  "not printable",
		`{"problem":"x","silent":"dns"}`:                                                      "invalid silent part of the path",
		`{"facts":1,"silent":"all"}`:                                                          "invalid silent part of the path",
		`{"problem":"x","silent":"all"}`:                                                      "address that is not valid",
		`{"problem":"x","silent":"all","address":"a:80 responds. Run b"}`:                     "address that is not valid",
		`{"problem":"x","silent":"all","address":"a\u001b"}`:                                  "not printable",
		`{"problem":"` + strings.Repeat("x", 201) + `"}`:                                      "too long or not printable",
		`{"facts":1,"failed":[{"name":"a","want":"x","got":"line\nbreak"}]}`:                  "not printable",
	} {
		if _, err := Decode(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", message, err, want)
		}
	}
	for _, message := range []string{`{"problem":"no response"}`, `{"unfinished":"reset"}`, `{"unknown":[{"name":"a","reason":"errors"}]}`,
		`{"facts":1,"failed":[{"name":"client.spoofable[X-Real-IP]","want":"x"}]}`} {
		if _, err := Decode(message); err != nil {
			t.Errorf("%s: %v", message, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"facts":2,"failed":[{"name":"a","want":"c"}],"unfinished":"reset"}`)
	f.Fuzz(func(t *testing.T, message string) {
		v, err := Decode(message)
		if err != nil {
			return
		}
		again, err := Decode(string(v.Encode()))
		if err != nil || len(v.Encode()) > maxSize || again.Facts != v.Facts || len(v.Failed) > 0 && len(again.Failed) == 0 {
			t.Errorf("%q is different when it is encoded again: %v", message, err)
		}
	})
}
