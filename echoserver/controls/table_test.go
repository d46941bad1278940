package controls

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTable checks that each row describes its control correctly.
func TestTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/reference/echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, row := range table() {
		if row.value(Controls{}) != nil {
			t.Errorf("%s is applied by default", row.name)
		}
		if row.set == nil {
			if row.varies {
				t.Errorf("Vary names %s, which a request cannot set", row.name)
			}
			continue
		}
		last = row.name
		if err := (&Controls{}).set(row.name, []string{""}, Safe); err == nil || strings.Contains(err.Error(), "unknown control") {
			t.Errorf("%s with an empty value: %v", row.name, err)
		}
		if !strings.Contains(string(document), "`echo."+row.name) && !strings.Contains(string(document), "| `"+row.name+"`") {
			t.Errorf("docs/reference/echo-server.md does not describe %s", row.name)
		}
		vary := strings.Split(Safe.Vary(), ",")
		if header := http.CanonicalHeaderKey(headerPrefix + row.name); slices.Contains(vary, header) != row.varies {
			t.Errorf("Vary is %q, with %s: %t", vary, header, row.varies)
		}
	}
	if length := len(Safe.Vary()) + len(",Accept-Encoding"); length > 128 {
		t.Errorf("nginx would not cache the response: Vary has %d bytes", length)
	}
	if got := requestable(); !strings.HasPrefix(got, "status, delay, set-header, ") || !strings.HasSuffix(got, " and "+last) {
		t.Errorf("a request can set %s; the last row is %s", got, last)
	}
}

func TestParseFaults_rejected(t *testing.T) {
	for text, why := range map[string]string{
		"x":                                    "not a list such as ",
		`{}`:                                   "not a list such as ",
		`[{}]`:                                 "faults[0]: requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection",
		`[null]`:                               "faults[0]: requires",
		`[{"percentage":30}]`:                  "faults[0]: requires",
		`[{"statusCode":503},{"status":503}]`:  `faults[1]: json: unknown field "status"`,
		`[{"statusCode":"503"}]`:               "statusCode of type int",
		`[{"statusCode":503.5}]`:               "faults[0]: json: ",
		`[{"statusCode":199}]`:                 "faults[0].statusCode: 199 is not from 200 to 599",
		`[{"statusCode":503,"percentage":0}]`:  "faults[0].percentage: 0 is not from 1 to 100",
		`[{"statusCode":503,"failures":1001}]`: "faults[0].failures: 1001 is not from 1 to 1000",
		`[{"delayMilliseconds":30001}]`:        "faults[0].delayMilliseconds: 30001 is not from 0 to 30000",
		`[{"maxDelayMilliseconds":-1}]`:        "faults[0].maxDelayMilliseconds: -1 is not",
		`[{"delayMilliseconds":2,"maxDelayMilliseconds":1}]`:                   "faults[0].maxDelayMilliseconds: less than delayMilliseconds",
		`[{"connection":"reset"}]`:                                             `faults[0].connection: "reset" is neither Reset nor Truncate`,
		`[{"connection":"Reset","statusCode":503}]`:                            "faults[0].statusCode: connection Reset sends no response",
		"[" + strings.Repeat(`{"statusCode":503},`, 8) + `{"statusCode":503}]`: "there are 9 faults, but at most 8 are allowed",
	} {
		if _, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
	got, err := ParseFaults(
		`[{"connection":"Truncate","statusCode":599,"percentage":100,"failures":1000,"delayMilliseconds":30000},{"connection":"Reset"}]`)
	want := []Fault{{percentage: 100, failures: 1000, status: 599, delay: 30 * time.Second, delays: true, connection: ConnectionTruncate},
		{connection: ConnectionReset}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("parsed as %+v, %v, want %+v", got, err, want)
	}
}
