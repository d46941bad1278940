package probe

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed facts.yaml
var facts []byte

// Definition defines a fact for reports and for docs/reference/pathcheck.md.
type Definition struct {
	Name      string `yaml:"fact"`
	Meaning   string
	Good, Bad string // regular expressions for whole values; other values are neutral
	Problem   string // what a bad value means; {value} stands for the value, or for the members of the fact
	Rank      int    // of the problem; the worst have rank 1
	Settings  []string
}

// FactTable returns the definitions of all facts, in the order of reports.
func FactTable() (table []Definition) {
	if err := yaml.Unmarshal(facts, &table); err != nil {
		panic(fmt.Sprintf("the table of facts is not valid: %v", err)) // a test reads the table
	}
	return table
}

// Place returns the index of a fact's definition in a table, or -1. A member of a fact has no definition of its own.
func Place(table []Definition, fact string) int {
	base, _, _ := strings.Cut(fact, "[")
	return slices.IndexFunc(table, func(d Definition) bool { return d.Name == base })
}

// These are the marks of values. Neutral values have none.
const Good, Bad = "good", "bad"

// Mark returns the mark of a value.
func (d *Definition) Mark(value string) string {
	isLike := func(pattern string) bool {
		return pattern != "" && regexp.MustCompile("^(?:"+pattern+")$").MatchString(value)
	}
	switch {
	case isLike(d.Good):
		return Good
	case isLike(d.Bad):
		return Bad
	}
	return ""
}
