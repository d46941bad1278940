package pathverdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	want := Verdict{Facts: map[string]string{"client.address": "kept"}, NotTested: map[string]string{"tls": "no TLS"},
		Failed: []Unmet{{Name: "client.address", Want: "replaced", Got: "kept"}}, Expected: 2, Unfinished: true}
	got, err := Decode(string(want.Encode()))
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
}

func TestEncodeLeavesOutWhatHasNoRoom(t *testing.T) {
	v := Verdict{Facts: map[string]string{}, NotTested: map[string]string{}}
	for i := range 100 {
		v.Add(fmt.Sprintf("group.fact%02d", i), strings.Repeat("x", MaxValue))
		v.NotTested[fmt.Sprintf("other%d", i)] = strings.Repeat("x", MaxText)
		if i >= 32 { // that many are allowed
			continue
		}
		v.Failed = append(v.Failed, Unmet{Name: fmt.Sprintf("group.fact%02d", i), Want: "a", Got: "b"})
	}
	data := v.Encode()
	short, err := Decode(string(data))
	if err != nil || len(data) > maxSize || !short.Truncated || len(short.NotTested) > 0 || len(short.Facts) >= maxFacts || len(short.Facts) == 0 || len(short.Failed) < 32 {
		t.Errorf("%v: %d bytes, %d facts, %d failures", err, len(data), len(short.Facts), len(short.Failed))
	}
}

// TestEncodeLeavesOutTheSame checks that two verdicts of the same way are the same, also if not everything has room.
func TestEncodeLeavesOutTheSame(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		v := Verdict{Facts: map[string]string{}}
		for i := range maxFacts {
			v.Add(strings.Repeat("a", i%7+30)+strings.Repeat(".b", i%3)+fmt.Sprint(i), strings.Repeat("x", MaxValue))
		}
		seen[string(v.Encode())] = true
	}
	if len(seen) != 1 {
		t.Errorf("there are %d verdicts", len(seen))
	}
}

// TestDecodeRefuses reads what a pod could write that is no check.
func TestDecodeRefuses(t *testing.T) {
	many := `{"facts":{`
	for i := range maxFacts + 1 {
		many += fmt.Sprintf(`"a%d":"b",`, i)
	}
	for message, want := range map[string]string{
		"":                                   "not the JSON",
		"panic: out of memory":               "not the JSON",
		`[]`:                                 "not the JSON",
		`{"facts":{"a":1}}`:                  "not the JSON",
		strings.Repeat("x", 5000):            "more than 4096 bytes",
		strings.TrimSuffix(many, ",") + "}}": "61 facts",
		`{"facts":{}}`:                       "0 facts",
		`{"facts":{"a":""}}`:                 "empty or too long",
		`{"facts":{"a":"` + strings.Repeat("x", 33) + `"}}`:                          "empty or too long",
		`{"facts":{"a b":"x"}}`:                                                      "name is not valid",
		`{"facts":{"a":"x"},"notTested":{"` + strings.Repeat("n", 65) + `":"x"}}`:    "name is not valid",
		`{"facts":{"a":"x"},"failed":[{"name":"<b>","want":"x"}]}`:                   "name is not valid",
		`{"facts":{"a":"x\u001b[31m"}}`:                                              "not printable",
		`{"facts":{"a":"\u202ex"}}`:                                                  "not printable",
		`{"problem":"` + strings.Repeat("x", 201) + `"}`:                             "too long or not printable",
		`{"facts":{"a":"x"},"failed":[{"name":"a","want":"x","got":"line\nbreak"}]}`: "not printable",
	} {
		if _, err := Decode(message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", message, err, want)
		}
	}
	if v, err := Decode(`{"problem":"no response"}`); err != nil || v.IsComplete() {
		t.Errorf("a problem: %v, %+v", err, v)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"facts":{"a":"b"},"notTested":{"c":"d"},"failed":[{"name":"a","want":"c"}]}`)
	f.Fuzz(func(t *testing.T, message string) {
		v, err := Decode(message)
		if err != nil {
			return
		}
		if again, err := Decode(string(v.Encode())); err != nil || len(v.Encode()) > maxSize || again.Digest() != v.Digest() && !again.Truncated {
			t.Errorf("%q is not the same when it is written again: %v", message, err)
		}
	})
}

func TestDigest(t *testing.T) {
	digest := func(facts map[string]string) string { return Verdict{Facts: facts}.Digest() }
	type m = map[string]string
	base := digest(m{"a": "b", "c": "d"})
	if base != digest(m{"c": "d", "a": "b"}) || len(base) != 12 {
		t.Errorf("the digest %q depends on the order", base)
	}
	for _, other := range []m{{"a": "b"}, {"a": "b", "c": "e"}, {"a": "b", "e": "d"}, {"a": "b\nc=d"}} {
		if digest(other) == base {
			t.Errorf("%v has the same digest", other)
		}
	}
}

func TestChanged(t *testing.T) {
	type m = map[string]string
	for name, c := range map[string]struct {
		baseline, now m
		truncated     bool
		want          []string
	}{
		"nothing":                      {m{"a": "b"}, m{"a": "b"}, false, nil},
		"no baseline":                  {nil, m{"a": "b"}, false, nil},
		"a value":                      {m{"a": "b", "c": "d", "e": "f"}, m{"a": "x", "c": "d", "e": "y"}, false, []string{"a: b -> x", "e: f -> y"}},
		"a fact that is new":           {m{"a": "b"}, m{"a": "b", "c": "d"}, false, nil},
		"a fact that is gone":          {m{"a": "b", "c": "d"}, m{"a": "b"}, false, []string{"c: d -> not tested"}},
		"a fact that had no room left": {m{"a": "b", "c": "d"}, m{"a": "x"}, true, []string{"a: b -> x"}},
	} {
		if got := (Verdict{Facts: c.now, Truncated: c.truncated}).Changed(c.baseline); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
