package message

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
)

func TestTruncate_keepsCharactersWhole(t *testing.T) {
	for text, want := range map[string]string{
		"short":                         "short",
		strings.Repeat("a", 10):         strings.Repeat("a", 10),
		strings.Repeat("a", 11):         "aaaaaaa...",
		"aaaaaaé" + "bbbbbbbbbbbbbbbbb": "aaaaaa...",
	} {
		NewWithT(t).Expect(Truncate(text, 10)).To(Equal(want), "Truncate(%q)", text)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "A.", "a.": "A.", "A...": "A.", "a. \n": "A.", "é": "É.", `"a"`: `"a".`} {
		NewWithT(t).Expect(Sentence(text)).To(Equal(want), "Sentence(%q)", text)
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{
		"a":                           `"a"`,
		"a b.\n":                      `"a b"`,
		`secret "x" not found`:        `"secret 'x' not found"`,
		`secret \"x\" in C:\temp`:     `"secret 'x' in C:temp"`,
		"two\n\tlines \x00and a bell": `"two lines and a bell"`,
		"cut...":                      `"cut..."`,
		"right\u202eto left\u200b":    `"rightto left"`,
		"\x1b[31mred":                 `"[31mred"`,
	} {
		NewWithT(t).Expect(Quote(text)).To(Equal(want), "Quote(%q)", text)
	}
}

func TestProblem_String(t *testing.T) {
	for want, problem := range map[string]Problem{
		"":                        {},
		"No pods.":                {Text: "no pods"},
		`No pods: "too many".`:    {Text: "no pods", Quote: "too many."},
		`No pods: "x". Wait.`:     {Text: "no pods", Quote: "x", Advice: "Wait."},
		"No pods. Wait. Go home.": {Text: "no pods.", Advice: "Wait. Go home."},
	} {
		NewWithT(t).Expect(problem.String()).To(Equal(want))
	}
}

func TestShort(t *testing.T) {
	const advice, count = "Change it.", "0 of 2 pods are ready."
	problem := Problem{Text: "no pods", Quote: "a very long explanation of what is wrong", Advice: advice}
	for name, c := range map[string]struct {
		limit   int
		problem Problem
		others  []string
		want    string
	}{
		"all fits":        {200, problem, []string{"A note.", count}, `No pods: "a very long explanation of what is wrong". Change it. A note. 0 of 2 pods are ready.`},
		"a quote is cut":  {80, problem, []string{count}, `No pods: "a very long exp...of what is wrong". Change it. 0 of 2 pods are ready.`},
		"no room for it":  {50, problem, []string{count}, "No pods. Change it. 0 of 2 pods are ready."},
		"a short quote":   {60, Problem{Text: "no pods", Quote: "x", Advice: advice}, []string{count}, `No pods: "x". Change it. 0 of 2 pods are ready.`},
		"no room for all": {30, problem, []string{"A note.", count}, "No pods. Change it. A note."},
		"a short note":    {50, problem, []string{"A note that is too long to fit.", "A note.", count}, "No pods. Change it. A note. 0 of 2 pods are ready."},
		"a long text": {90, Problem{Text: strings.Repeat("x", 100), Advice: advice}, []string{count},
			"X" + strings.Repeat("x", 74) + "... Change it."},
		"nothing is wrong":      {40, Problem{}, []string{count}, count},
		"a word without spaces": {10, Problem{Text: strings.Repeat("x", 100)}, nil, "Xxxxxxx..."},
	} {
		got := Short(c.limit, c.problem, c.others...)
		if len(got) > c.limit {
			t.Errorf("%s: %q has %d bytes", name, got, len(got))
		}
		NewWithT(t).Expect(got).To(Equal(c.want), name)
	}
}

// FuzzShort checks the properties that every message must have, regardless of what other components report.
func FuzzShort(f *testing.F) {
	f.Add("Image x cannot be pulled", `"a" \"b\"`+"\nc", "Check it.", "0 of 1 pods are ready.", 80)
	f.Fuzz(func(t *testing.T, text, quote, advice, other string, limit int) {
		if limit %= 1000; limit < len(Ellipsis) || !utf8.ValidString(strings.Join([]string{text, quote, advice, other}, " ")) {
			t.Skip()
		}
		got := Short(limit, Problem{Text: text, Quote: quote, Advice: advice}, other)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("%q has %d bytes, the limit is %d", got, len(got), limit)
		}
	})
}
