package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for text, want := range map[string]string{
		"short":                         "short",
		strings.Repeat("a", 10):         strings.Repeat("a", 10),
		strings.Repeat("a", 11):         "aaaaaaa...",
		"aaaaaaé" + "bbbbbbbbbbbbbbbbb": "aaaaaa...",
	} {
		NewWithT(t).Expect(truncate(text, 10)).To(Equal(want), "truncate(%q)", text)
	}
}

func TestSentenceEndsWithOneFullStop(t *testing.T) {
	for text, want := range map[string]string{"a": "a.", "a.": "a.", "a...": "a.", "a. \n": "a."} {
		NewWithT(t).Expect(Sentence(text)).To(Equal(want), "sentence(%q)", text)
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		NewWithT(t).Expect(plural(n, "pod")).To(Equal(want), "plural(%d)", n)
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "a\nb\n\n": "b", "\n": ""} {
		NewWithT(t).Expect(lastLine(text)).To(Equal(want), "lastLine(%q)", text)
	}
}
