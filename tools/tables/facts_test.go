package main

import (
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck"
)

func TestWithFacts(t *testing.T) {
	table := []pathcheck.Definition{{Name: "a.one", Meaning: "first"}, {Name: "a.four", Meaning: "first"},
		{Name: "a.two.three", Meaning: "whether a client can choose X"}, {Name: "b", Meaning: "third"}}
	const file = "text\n<!-- made by make generate, facts of a b -->\nold\n<!-- end facts -->\n" +
		"<!-- made by make generate, facts of a.two -->\n<!-- end facts -->\n"
	got, err := withFacts(file, table)
	want := "text\n<!-- made by make generate, facts of a b -->\n| fact | meaning |\n|---|---|\n| `a.one`, `a.four` | first |\n| `b` | third |\n" +
		"<!-- end facts -->\n<!-- made by make generate, facts of a.two -->\n| fact | whether a client can choose |\n|---|---|\n| `a.two.three` | X |\n" +
		"<!-- end facts -->\n"
	if err != nil || got != want {
		t.Errorf("%v:\n%s", err, got)
	}
	if again, err := withFacts(got, table); err != nil || again != got {
		t.Errorf("the second time: %v:\n%s", err, again)
	}
	if _, err := withFacts(strings.Replace(file, "a.two", "c", 1), table); err == nil {
		t.Error("no error for a place without facts")
	}
	if _, err := withFacts(file, append(table, pathcheck.Definition{Name: "c.one"})); err == nil {
		t.Error("no error for a fact without a place")
	}
}
