package main

import (
	"encoding/json"
	"fmt"
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
		"- {id: GO-1, reason: no fix, justification: component_not_present, until: 2027-02-25}":                   "GO-1: parsing time",
		"- {id: GO-1, reason: no fix, justification: component_not_present, date: 2026-11-25, until: 2026-11-24}": "GO-1 ends before it begins",
		"- {id: GO-1, reason: no fix, justification: minor, date: 2026-11-25, until: 2027-02-25}":                 `GO-1: the justification is "minor"`,
		"- {id: GO-1, why: no fix}": "unknown field",
		"- &a {id: GO-1, reason: x, justification: component_not_present, date: 2026-11-25, until: 2027-02-25}\n- *a": "GO-1 is listed twice",
	} {
		if _, err := parseExceptions([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		}
	}
}

// report is what govulncheck prints for code that calls a vulnerable function in an old x/net, and imports another vulnerable package.
const report = `{"config":{"protocol_version":"v1.0.0","db_last_modified":"2026-11-05T23:49:57Z","scan_level":"symbol","scan_mode":"%s"}}
{"progress":{"message":"Checking the code against the vulnerabilities..."}}
{"osv":{"id":"GO-2","modified":"2026-11-05T23:49:57Z","details":"","affected":[]}}
{"finding":{"osv":"GO-2","fixed_version":"v0.62.0","trace":[{"module":"golang.org/x/net","version":"v0.57.0"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v0.62.0","trace":[
	{"module":"golang.org/x/net","version":"v0.57.0","package":"golang.org/x/net/http2"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v0.62.0","trace":[
	{"module":"golang.org/x/net","version":"v0.57.0","package":"golang.org/x/net/http2","function":"ServeConn","receiver":"*Server"},
	{"module":"example.com/echo","package":"example.com/echo","function":"main","position":{"filename":"main.go","line":7}}]}}
{"finding":{"osv":"GO-1","trace":[{"module":"golang.org/x/net","version":"v0.57.0","package":"golang.org/x/net/html"}]}}
{"finding":{"osv":"GO-3","trace":[{"module":"golang.org/x/text","version":"v0.40.0"}]}}
`

func TestParseScan(t *testing.T) {
	html := finding{id: "GO-1", module: "golang.org/x/net", version: "v0.57.0", symbol: "golang.org/x/net/html"}
	http2 := html
	http2.id, http2.fixed, http2.symbol = "GO-2", "v0.62.0", "golang.org/x/net/http2.*Server.ServeConn"
	called, present := http2, http2
	called.effect, called.caller = reached, "example.com/echo.main"
	present.effect = linked
	for mode, want := range map[string][]finding{"source": {html, called}, "binary": {html, present}} {
		got, err := parseScan(fmt.Appendf(nil, report, mode))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.findings, want) {
			t.Errorf("in mode %s the findings are\n%+v, want\n%+v", mode, got.findings, want)
		}
		if want := time.Date(2026, time.November, 5, 23, 49, 57, 0, time.UTC); !got.database.Equal(want) {
			t.Errorf("the database was modified at %s, want %s", got.database, want)
		}
	}
}

// TestIncompleteScans checks that a scan without results is not mistaken for one that found nothing.
func TestIncompleteScans(t *testing.T) {
	whole := fmt.Sprintf(report, "source")
	for text, want := range map[string]string{
		"":                    "this is not govulncheck JSON",
		"{}":                  "this is not govulncheck JSON",
		"No":                  "invalid character",
		whole[:len(whole)-20]: "unexpected EOF",
		strings.Replace(whole, "v1.0.0", "v2.0.0", 1):     `protocol "v2.0.0"`,
		strings.Replace(whole, `"symbol"`, `"module"`, 1): `scan level "module"`,
	} {
		if _, err := parseScan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want %q", text, err, want)
		}
	}
}

// TestOpenVEX checks that the document has a statement for each exception. `make vulncheck` compares exceptions with what govulncheck finds.
func TestOpenVEX(t *testing.T) {
	for _, excepted := range [][]exception{{{ID: "GO-1", Justification: "component_not_present"}}, nil} {
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
