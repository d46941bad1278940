package status

import (
	"strings"
	"testing"
)

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for text, want := range map[string]string{
		"short":                         "short",
		strings.Repeat("a", 10):         strings.Repeat("a", 10),
		strings.Repeat("a", 11):         "aaaaaaa...",
		"aaaaaaé" + "bbbbbbbbbbbbbbbbb": "aaaaaa...",
	} {
		if got := truncate(text, 10); got != want {
			t.Errorf("truncate(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSentenceEndsWithOneFullStop(t *testing.T) {
	for text, want := range map[string]string{"a": "a.", "a.": "a.", "a...": "a.", "a. \n": "a."} {
		if got := sentence(text); got != want {
			t.Errorf("sentence(%q) = %q", text, got)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 pods", 1: "1 pod", 2: "2 pods"} {
		if got := plural(n, "pod"); got != want {
			t.Errorf("plural(%d) = %q", n, got)
		}
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "a\nb\n\n": "b", "\n": ""} {
		if got := lastLine(text); got != want {
			t.Errorf("lastLine(%q) = %q", text, got)
		}
	}
}
