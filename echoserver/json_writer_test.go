package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// marshalled returns what encoding/json writes for a value, in the form that jsonWriter must produce.
func marshalled(t *testing.T, value any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

// quotedByWriter returns a string as jsonWriter writes it.
func quotedByWriter(text string) string {
	w := &jsonWriter{}
	w.quote(text)
	return string(w.data)
}

// TestQuoteEachCharacter quotes every Unicode character alone, and every byte that is not UTF-8.
func TestQuoteEachCharacter(t *testing.T) {
	for r := range rune(utf8.MaxRune + 1) {
		text := string(r) // a surrogate becomes U+FFFD
		if r > 0xffff && r%251 != 0 {
			continue // the planes above the first are all alike
		}
		if got, want := quotedByWriter(text), marshalled(t, text); got != want {
			t.Fatalf("%U is written as %s, want %s", r, got, want)
		}
	}
	for b := range 256 {
		for _, text := range []string{string([]byte{byte(b)}), "a" + string([]byte{byte(b)}) + "b", string([]byte{byte(b), '"'})} {
			got := quotedByWriter(text)
			if want := marshalled(t, text); got != want {
				t.Errorf("%q is written as %s, want %s", text, got, want)
			}
			if utf8.ValidString(text) {
				var read string
				if err := json.Unmarshal([]byte(got), &read); err != nil || read != text {
					t.Errorf("%q is read again as %q, %v", text, read, err)
				}
			}
		}
	}
}

func TestQuoteSequences(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                    "",
		"no escapes":               "plain text",
		"an escape at the start":   `"text`,
		"an escape at the end":     `text\`,
		"only escapes":             "\"\\\"\n\r\t\b\f\x00\x1f\x7f",
		"an escape as text":        `\u0041\n`,
		"markup":                   "<script>&amp;</script>",
		"the line separators":      "a\u2028b\u2029c",
		"a truncated character":    "a\xe2\x82",
		"a surrogate in UTF-8":     "\xed\xa0\x80",
		"an overlong encoding":     "\xc0\xaf",
		"a byte order mark":        "\ufeffa",
		"a combining character":    "e\u0301",
		"four bytes":               "\U0001f600",
		"beyond the last":          "\xf4\x90\x80\x80",
		"valid after invalid":      "\xff\u00e9",
		"the last that is plain":   "~",
		"the first that is plain":  " ",
		"the first that is not":    "\x7f",
		"the last control":         "\x1f",
		"a long text at the limit": string(bytes.Repeat([]byte("x"), answerCapacity)) + "\n",
	} {
		if got, want := quotedByWriter(text), marshalled(t, text); got != want {
			t.Errorf("%s: %q is written as %s, want %s", name, text, got, want)
		}
	}
}

// jsonSource generates values from a fixed seed.
type jsonSource struct{ *rand.Rand }

func newJSONSource(seed uint64) jsonSource { return jsonSource{rand.New(rand.NewPCG(seed, 1))} }

// text returns a string of up to seven pieces, of which many need an escape.
func (s jsonSource) text() string {
	pieces := []string{"a", "B7", " ", "é", "\u2028", "\U0001f600", `"`, `\`, "/", "<", "&", "\n", "\x00", "\x1f", "\x7f", "\xff", "\xe2\x82", "\ufffd"}
	var text string
	for range s.IntN(8) {
		text += pieces[s.IntN(len(pieces))]
	}
	return text
}

// validText returns a string that a JSON object can have as a name: encoding/json sorts and joins names that are not valid UTF-8.
func (s jsonSource) validText() string {
	for {
		if text := s.text(); utf8.ValidString(text) {
			return text
		}
	}
}

// list returns a list of up to three strings, which is never nil.
func (s jsonSource) list() []string {
	values := make([]string, s.IntN(4))
	for i := range values {
		values[i] = s.text()
	}
	return values
}

// lists returns a map of up to four lists.
func (s jsonSource) lists() map[string][]string {
	values := map[string][]string{}
	for range s.IntN(5) {
		values[s.validText()] = s.list()
	}
	return values
}

// object writes an object of random members, and returns the same object for encoding/json. The names are in the order in which
// encoding/json writes them.
func (s jsonSource) object(w *jsonWriter, depth int) map[string]any {
	value := map[string]any{}
	for i := range s.IntN(6) {
		name := strconv.Itoa(i) + s.validText()
		kinds := 6
		if depth > 0 {
			kinds = 7
		}
		switch s.IntN(kinds) {
		case 0:
			text := s.text()
			value[name] = text
			w.text(name, text)
		case 1:
			number := int64(s.Uint64())
			value[name] = number
			w.number(name, number)
		case 2:
			truth := s.IntN(2) == 0
			value[name] = truth
			w.boolean(name, truth)
		case 3:
			list := s.list()
			value[name] = list
			w.list(name, list)
		case 4:
			lists := s.lists()
			value[name] = lists
			w.lists(name, lists)
		case 5:
			moment := time.Unix(s.Int64N(4e9), s.Int64N(1e9)).UTC()
			value[name] = moment
			w.time(name, moment)
		case 6:
			w.object(name, func() { value[name] = s.object(w, depth-1) })
		}
	}
	return value
}

func TestWriterWritesAsEncodingJSON(t *testing.T) {
	for seed := range uint64(2000) {
		w, source := &jsonWriter{}, newJSONSource(seed)
		var value map[string]any
		w.group("{}", func() { value = source.object(w, 3) })
		if diff := cmp.Diff(marshalled(t, value), string(w.data)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestWriterMembers(t *testing.T) {
	moment := time.Date(2026, 11, 21, 4, 10, 27, 0, time.UTC)
	for name, c := range map[string]struct {
		write func(*jsonWriter)
		want  any
	}{
		"the lowest number":        {func(w *jsonWriter) { w.number("a", math.MinInt64) }, map[string]any{"a": int64(math.MinInt64)}},
		"the highest number":       {func(w *jsonWriter) { w.number("a", math.MaxInt64) }, map[string]any{"a": int64(math.MaxInt64)}},
		"a time in whole seconds":  {func(w *jsonWriter) { w.time("a", moment) }, map[string]any{"a": moment}},
		"a time with nanoseconds":  {func(w *jsonWriter) { w.time("a", moment.Add(1)) }, map[string]any{"a": moment.Add(1)}},
		"a time in another zone":   {func(w *jsonWriter) { w.time("a", moment.In(time.FixedZone("", 5400))) }, map[string]any{"a": moment.In(time.FixedZone("", 5400))}},
		"an omitted text":          {func(w *jsonWriter) { w.textIf("a", "") }, map[string]any{}},
		"an omitted boolean":       {func(w *jsonWriter) { w.booleanIf("a", false) }, map[string]any{}},
		"an omitted list":          {func(w *jsonWriter) { w.listIf("a", []string{}) }, map[string]any{}},
		"a text that is required":  {func(w *jsonWriter) { w.text("a", "") }, map[string]any{"a": ""}},
		"a list that is required":  {func(w *jsonWriter) { w.list("a", nil) }, map[string]any{"a": []string{}}},
		"an optional text":         {func(w *jsonWriter) { w.textIf("a", "x") }, map[string]any{"a": "x"}},
		"an optional boolean":      {func(w *jsonWriter) { w.booleanIf("a", true) }, map[string]any{"a": true}},
		"a list with an empty one": {func(w *jsonWriter) { w.listIf("a", []string{""}) }, map[string]any{"a": []string{""}}},
		"texts that look like groups": {func(w *jsonWriter) { w.list("a{", []string{"{", "[", ","}); w.text("b[", "[") },
			map[string]any{"a{": []string{"{", "[", ","}, "b[": "["}},
		"omitted between others": {func(w *jsonWriter) { w.text("a", "1"); w.textIf("b", ""); w.text("c", "2") }, map[string]any{"a": "1", "c": "2"}},
		"lists in sorted order":  {func(w *jsonWriter) { w.lists("a", map[string][]string{"b": {"2", "1"}, "B": {}, "": {""}}) }, map[string]any{"a": map[string][]string{"b": {"2", "1"}, "B": {}, "": {""}}}},
		"an empty object":        {func(w *jsonWriter) { w.object("a", func() {}) }, map[string]any{"a": map[string]any{}}},
	} {
		w := &jsonWriter{}
		w.group("{}", func() { c.write(w) })
		if diff := cmp.Diff(marshalled(t, c.want), string(w.data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
