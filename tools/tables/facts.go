package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck"
)

const factsEnd = "<!-- end facts -->"

// withFacts updates the tables of facts in a file. Each table follows a comment with the prefixes of its facts.
func withFacts(file string, table []pathcheck.Definition) (string, error) {
	place := regexp.MustCompile(`(?s)<!-- made by make generate, facts of ([\w. ]+) -->\n.*?` + factsEnd)
	var prefixes []string
	for _, found := range place.FindAllStringSubmatch(file, -1) {
		prefixes = append(prefixes, strings.Fields(found[1])...)
	}
	facts := map[string][]pathcheck.Definition{}
	for _, d := range table {
		prefix := longestPrefix(d.Name, prefixes)
		if prefix == "" {
			return "", fmt.Errorf("%w: %s", errNoPlace, d.Name)
		}
		facts[prefix] = append(facts[prefix], d)
	}
	var empty []error
	edited := place.ReplaceAllStringFunc(file, func(old string) string {
		begin, _, _ := strings.Cut(old, "\n")
		var all []pathcheck.Definition
		for prefix := range strings.FieldsSeq(place.FindStringSubmatch(old)[1]) {
			if len(facts[prefix]) == 0 {
				empty = append(empty, fmt.Errorf("no fact begins with %s", prefix))
			}
			all = append(all, facts[prefix]...)
		}
		return begin + "\n" + factRows(all) + factsEnd
	})
	return edited, errors.Join(empty...)
}

// factRows returns a table with a row for each meaning.
func factRows(facts []pathcheck.Definition) string {
	var meanings []string
	names := map[string]string{}
	for _, d := range facts {
		if names[d.Meaning] == "" {
			meanings = append(meanings, d.Meaning)
			names[d.Meaning] = "`" + d.Name + "`"
		} else {
			names[d.Meaning] += ", `" + d.Name + "`"
		}
	}
	var rows strings.Builder
	rows.WriteString("| fact | meaning |\n|---|---|\n")
	for _, meaning := range meanings {
		fmt.Fprintf(&rows, "| %s | %s |\n", names[meaning], meaning)
	}
	return rows.String()
}

// longestPrefix returns the longest prefix that matches the whole name or the part of the name before a dot.
func longestPrefix(name string, prefixes []string) (longest string) {
	for _, prefix := range prefixes {
		if (name == prefix || strings.HasPrefix(name, prefix+".")) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	return longest
}
