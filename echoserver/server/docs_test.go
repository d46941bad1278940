package server

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// documentedSection returns the commands in a section of a page, and their documented output. The commands require curl and jq.
func documentedSection(t *testing.T, page, heading string) []fences.Step {
	t.Helper()
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no " + program + " here")
		}
	}
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return fences.Steps(fences.Section(string(text), heading))
}

// bash runs a documented command against a server, and returns its output.
func (p *serverProcess) bash(command string) (string, error) {
	output, err := exec.Command("bash", "-c",
		strings.ReplaceAll(command, "localhost:8080", strings.TrimPrefix(p.url, "http://"))).CombinedOutput()
	return string(output), err
}

// TestRun_injectsFaultsAsDocumented runs documented commands against the real program, and compares their output with the documented
// output. Some commands start the server with an environment variable.
func TestRun_injectsFaultsAsDocumented(t *testing.T) {
	steps := documentedSection(t, "docs/reference/echo-server.md", "## Faults")
	if len(steps) != 10 {
		t.Errorf("%d commands are found", len(steps))
	}
	counts := regexp.MustCompile(`(?m)^ +\d+ `) // the counts that uniq prints, which vary
	p := start(t)
	for _, step := range steps {
		if variable, ok := strings.CutSuffix(step.Commands, "' echo-server\n"); ok {
			p = start(t, strings.Replace(variable, "='", "=", 1))
			continue
		}
		output, err := p.bash(step.Commands)
		got := counts.ReplaceAllString(strings.TrimRight(output, "\n"), "N ")
		if diff := cmp.Diff(counts.ReplaceAllString(strings.TrimRight(step.Output, "\n"), "N "), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", step.Commands, err, diff)
		}
	}
}

// TestRun_respondsAsDocumented runs documented commands, and checks that the output contains the documented output.
func TestRun_respondsAsDocumented(t *testing.T) {
	steps := documentedSection(t, "docs/reference/echo-server.md", "## The response")
	if len(steps) != 3 {
		t.Errorf("%d commands are found", len(steps))
	}
	p := start(t)
	address := strings.TrimPrefix(p.url, "http://")
	_, port, _ := strings.Cut(address, ":")
	for _, step := range steps {
		step.Output = strings.NewReplacer("localhost:8080", address, `"8080"`, `"`+port+`"`).Replace(step.Output)
		if output, err := p.bash(step.Commands); err != nil || step.Missing(output) != "" {
			t.Errorf("%s: %v, %q is missing in %s", step.Commands, err, step.Missing(output), output)
		}
	}
}

// TestRun_servesTLSAsDocumented runs a documented command against the real program, and compares its output with the documented output.
func TestRun_servesTLSAsDocumented(t *testing.T) {
	steps := documentedSection(t, "docs/reference/echo-server.md", "## TLS")
	if len(steps) != 1 {
		t.Fatalf("%d commands are found", len(steps))
	}
	a := echotest.NewAuthority(t, "authority")
	volume := echotest.NewSecretVolume(t, echotest.SecretKeys(a.Issue(t, "localhost"), a.PEM))
	p := start(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+volume.Folder)
	_, port, err := net.SplitHostPort(p.https)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", "-c", strings.ReplaceAll(steps[0].Commands, "8443", port))
	run.Dir = volume.Folder // the directory that contains ca.crt
	if output, err := run.CombinedOutput(); err != nil || string(output) != steps[0].Output {
		t.Errorf("%s: %v, got %s", steps[0].Commands, err, output)
	}
}

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
