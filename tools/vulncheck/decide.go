package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// exception accepts a known vulnerability until a day.
type exception struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Date   string `json:"date"`  // the day of the decision, such as 2026-01-31
	Until  string `json:"until"` // its last day
	// Justification is the OpenVEX justification: why the vulnerability does not affect the program.
	Justification string `json:"justification"`

	until time.Time
}

// parseExceptions reads a YAML list. Each exception needs all fields, and each ID has only one exception.
func parseExceptions(content []byte) ([]exception, error) {
	var exceptions []exception
	if err := yaml.UnmarshalStrict(content, &exceptions); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, each := range exceptions {
		if each.ID == "" || each.Reason == "" {
			return nil, fmt.Errorf("exception %d needs an ID and a reason", i+1)
		}
		if seen[each.ID] {
			return nil, fmt.Errorf("%s is listed twice", each.ID)
		}
		seen[each.ID] = true
		if !slices.Contains(justifications(), each.Justification) {
			return nil, fmt.Errorf("%s: the justification is %q, want one of %q", each.ID, each.Justification, justifications())
		}
		date, badDate := time.Parse(time.DateOnly, each.Date)
		until, badUntil := time.Parse(time.DateOnly, each.Until)
		if err := errors.Join(badDate, badUntil); err != nil {
			return nil, fmt.Errorf("%s: %w", each.ID, err)
		}
		if until.Before(date) {
			return nil, fmt.Errorf("%s ends before it begins", each.ID)
		}
		exceptions[i].until = until
	}
	return exceptions, nil
}

// decide returns why the programs must not ship: vulnerabilities that have no exception or that the project's own code reaches, and
// exceptions that have expired or that no scan needs.
func decide(scans []scan, exceptions []exception, now time.Time) []string {
	var problems []string
	excepted, used := map[string]bool{}, map[string]bool{}
	for _, each := range exceptions {
		excepted[each.ID] = true
	}
	for _, scan := range scans {
		for _, found := range scan.findings {
			used[found.id] = true
			if reachedByUs := scan.own && found.effect == reached; reachedByUs || !excepted[found.id] {
				problems = append(problems, describe(scan.name, found))
			}
		}
	}
	for _, each := range exceptions {
		switch {
		case !used[each.ID]:
			problems = append(problems, fmt.Sprintf("the exception for %s is not needed: delete it", each.ID))
		case !now.Before(each.until.AddDate(0, 0, 1)):
			problems = append(problems, fmt.Sprintf("the exception for %s ended on %s: fix the vulnerability, or decide again", each.ID, each.Until))
		}
	}
	return problems
}

func describe(name string, found finding) string {
	fix, by := "no version fixes it", ""
	if found.fixed != "" {
		fix = "fixed in " + found.fixed
	}
	if found.caller != "" {
		by = " by " + found.caller
	}
	return fmt.Sprintf("%s: https://pkg.go.dev/vuln/%s of %s %s (%s): %s is %s%s",
		name, found.id, found.module, found.version, fix, found.symbol, found.effect, by)
}

// outdated returns a warning if a database is older than 30 days, and otherwise "".
func outdated(scans []scan, now time.Time) string {
	for _, each := range scans {
		if age := int(now.Sub(each.database).Hours() / 24); age > 30 {
			return fmt.Sprintf("the vulnerability database is %d days old: run 'make update-vulndb'", age)
		}
	}
	return ""
}
