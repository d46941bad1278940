package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestOpenVEX checks that the document has a statement for each exception. `make vulncheck` compares exceptions with what govulncheck finds.
func TestOpenVEX(t *testing.T) {
	content, err := os.ReadFile("exceptions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	exceptions, err := parseExceptions(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, excepted := range [][]exception{exceptions, nil} {
		written, err := openVEX(excepted, "v1.2.3", "2026-01-31T00:00:00Z")
		if err != nil {
			t.Fatal(err)
		}
		var got document
		if err := json.Unmarshal(written, &got); err != nil || got.Statements == nil || got.Timestamp != "2026-01-31T00:00:00Z" {
			t.Fatalf("%v: %s", err, written)
		}
		isOf := func(s statement, e exception) bool {
			return s.Vulnerability.Name == e.ID && s.Status == "not_affected" && s.Justification == e.Justification && len(s.Products) == 1
		}
		if !slices.EqualFunc(got.Statements, excepted, isOf) {
			t.Errorf("the statements are %+v, want those of %+v", got.Statements, excepted)
		}
	}
}
