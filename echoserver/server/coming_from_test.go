package server

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRun_replacesOtherEchoServers sends each request in the tables of a how-to page to the real program, and compares the response with
// the last cell of the row. It stops curl after 2.5 s, because an event stream does not end.
func TestRun_replacesOtherEchoServers(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	page, err := os.ReadFile("../../docs/how-to/coming-from-another-echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\|(.*)\\| `(curl [^`]*)` \\|(.*)\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) != 28 {
		t.Errorf("%d rows have a request", len(rows))
	}
	p := start(t)
	address := strings.TrimPrefix(p.url, "http://")
	for _, row := range rows {
		t.Run(strings.TrimSpace(row[1]), func(t *testing.T) {
			t.Parallel()
			command := strings.ReplaceAll(strings.Replace(row[2], "curl ", "curl -si --max-time 2.5 ", 1), "localhost:8080", address)
			began := time.Now()
			output, _ := exec.CommandContext(t.Context(), "bash", "-c", command).Output() // curl fails when --max-time ends a stream
			took, response := time.Since(began), strings.ReplaceAll(string(output), address, "localhost:8080")
			if !strings.HasPrefix(response, "HTTP/") || strings.HasPrefix(response, "HTTP/1.1 400") {
				t.Fatalf("%s: the response is %q", command, response)
			}
			for _, want := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1) {
				if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(want[1])).MatchString(response) {
					t.Errorf("%s: no line of the response begins with %q: %s", command, want[1], response)
				}
				if _, text, ok := strings.Cut(want[1], "delay="); ok {
					if delay, err := time.ParseDuration(text); err != nil || took < delay {
						t.Errorf("%s: the response arrived after %v, %v", command, took, err)
					}
				}
			}
		})
	}
}
