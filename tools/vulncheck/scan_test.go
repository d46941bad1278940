package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

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
