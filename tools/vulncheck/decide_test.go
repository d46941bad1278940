package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// now is the day of the decisions, at noon.
func now() time.Time {
	return time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)
}

// found returns the scan of a program with one finding.
func found(name, id string, effect effect) scan {
	found := finding{id: id, module: "golang.org/x/net", version: "v0.57.0", fixed: "v0.62.0", symbol: "http2.Serve", effect: effect}
	return scan{name: name, own: name != "opm", findings: []finding{found}}
}

func until(id, day string) []exception {
	end, _ := time.Parse(time.DateOnly, day)
	return []exception{{ID: id, Until: day, until: end}}
}

func TestDecide(t *testing.T) {
	clean := scan{name: "source", own: true}
	tests := map[string]struct {
		scans      []scan
		exceptions []exception
		want       []string // what the problems contain
	}{
		"nothing is found": {[]scan{clean}, nil, nil},
		"an old x/net that our code reaches": {
			[]scan{found("source", "GO-1", reached)}, nil,
			[]string{"source: https://pkg.go.dev/vuln/GO-1 of golang.org/x/net v0.57.0 (fixed in v0.62.0): http2.Serve is reached"}},
		"no exception for what our code reaches": {
			[]scan{found("source", "GO-1", reached)}, until("GO-1", "2027-01-01"), []string{"http2.Serve is reached"}},
		"an old x/net that is linked": {[]scan{found("binary", "GO-1", linked)}, nil, []string{"http2.Serve is linked"}},
		"linked and excepted":         {[]scan{clean, found("binary", "GO-1", linked)}, until("GO-1", "2027-01-01"), nil},
		"imported":                    {[]scan{found("source", "GO-1", imported)}, nil, []string{"http2.Serve is imported"}},
		"imported and excepted":       {[]scan{found("source", "GO-1", imported)}, until("GO-1", "2027-01-01"), nil},
		"reached by others":           {[]scan{found("opm", "GO-1", reached)}, nil, []string{"opm: "}},
		"reached by others, excepted": {[]scan{found("opm", "GO-1", reached)}, until("GO-1", "2027-01-01"), nil},
		"reached by others and by us, excepted": {
			[]scan{found("opm", "GO-1", reached), found("source", "GO-1", reached)}, until("GO-1", "2027-01-01"), []string{"source: "}},
		"an exception for another ID": {
			[]scan{found("opm", "GO-1", reached), found("binary", "GO-2", linked)}, until("GO-2", "2027-01-01"), []string{"vuln/GO-1"}},
		"an exception that is no longer needed": {
			[]scan{clean}, until("GO-1", "2027-01-01"), []string{"the exception for GO-1 is not needed"}},
		"the last day of an exception": {[]scan{found("opm", "GO-1", reached)}, until("GO-1", "2026-11-25"), nil},
		"an exception that ended": {
			[]scan{found("opm", "GO-1", reached)}, until("GO-1", "2026-11-24"), []string{"GO-1 ended on 2026-11-24"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := decide(test.scans, test.exceptions, now())
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("the problems are %q, want %q", got, test.want)
			}
		})
	}
}

func TestOutdated(t *testing.T) {
	for days, want := range map[int]string{0: "", 30: "", 31: "the vulnerability database is 31 days old: run 'make update-vulndb'"} {
		scans := []scan{{database: now()}, {database: now().AddDate(0, 0, -days)}}
		if got := outdated(scans, now()); got != want {
			t.Errorf("after %d days: %q, want %q", days, got, want)
		}
	}
}

func TestParseExceptions(t *testing.T) {
	got, err := parseExceptions([]byte("- {id: GO-1, reason: no fix, justification: component_not_present, date: 2026-11-25, until: 2027-02-25}\n"))
	if err != nil {
		t.Fatal(err)
	}
	last := time.Date(2027, time.February, 25, 0, 0, 0, 0, time.UTC)
	want := []exception{{ID: "GO-1", Reason: "no fix", Justification: "component_not_present", Date: "2026-11-25", Until: "2027-02-25", until: last}}
	if !slices.Equal(got, want) {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
	for text, want := range map[string]string{
		"- {id: GO-1, date: 2026-11-25, until: 2027-02-25}":                                                       "needs an ID and a reason",
		"- {reason: no fix, justification: component_not_present, date: 2026-11-25, until: 2027-02-25}":           "needs an ID and a reason",
		"- {id: GO-1, reason: no fix, justification: component_not_present, until: 2027-02-25}":                   "GO-1: parsing time",
		"- {id: GO-1, reason: no fix, justification: component_not_present, date: 2026-11-25}":                    "GO-1: parsing time",
		"- {id: GO-1, reason: no fix, justification: component_not_present, date: 2026-11-25, until: 2026-11-24}": "GO-1 ends before it begins",
		"- {id: GO-1, reason: no fix, justification: component_not_present, date: 2026-11-25, until: never}":      "GO-1: parsing time",
		"- {id: GO-1, reason: no fix, justification: minor, date: 2026-11-25, until: 2027-02-25}":                 `GO-1: the justification is "minor"`,
		"- {id: GO-1, why: no fix}": "unknown field",
		"- &a {id: GO-1, reason: x, justification: component_not_present, date: 2026-11-25, until: 2027-02-25}\n- *a": "GO-1 is listed twice",
	} {
		if _, err := parseExceptions([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		}
	}
}
