package server

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// documented returns a section of the documentation, whose commands need curl.
func documented(t *testing.T, title string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	document, err := os.ReadFile("../../docs/reference/echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "\n## "+title+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// TestFaultsOfTheDocumentation runs the commands of a section of the documentation against the real program, and compares their output.
func TestFaultsOfTheDocumentation(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(documented(t, "Faults"), -1)
	commands := 0
	for _, block := range blocks {
		commands += checkSession(t, block[1])
	}
	if len(blocks) != 3 || commands != 8 {
		t.Errorf("%d blocks and %d commands are found", len(blocks), commands)
	}
}

// TestTLSOfTheDocumentation runs the command of a section of the documentation against the real program, and compares its output.
func TestTLSOfTheDocumentation(t *testing.T) {
	_, block, _ := strings.Cut(documented(t, "TLS"), "```text\n$ ")
	block, _, _ = strings.Cut(block, "```")
	command, want, _ := strings.Cut(block, "\n")
	a := echotest.NewAuthority(t, "authority")
	volume := echotest.NewSecretVolume(t, echotest.SecretKeys(a.Issue(t, "localhost"), a.PEM))
	p := start(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+volume.Folder)
	_, port, err := net.SplitHostPort(p.https)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", "-c", strings.ReplaceAll(command, "8443", port))
	run.Dir = volume.Folder // with ca.crt
	if output, err := run.CombinedOutput(); err != nil || string(output) != want {
		t.Errorf("%s: %v, got %s", command, err, output)
	}
}

// checkSession runs the commands of a terminal session, the first of which may start the server with a variable. It returns how many
// others there are.
func checkSession(t *testing.T, session string) int {
	t.Helper()
	steps := strings.Split("\n"+session, "\n$ ")[1:]
	var environ []string
	if variable, ok := strings.CutSuffix(steps[0], "' echo-server"); ok {
		environ = []string{strings.Replace(variable, "='", "=", 1)}
		steps = steps[1:]
	}
	p := start(t, environ...)
	counts := regexp.MustCompile(`(?m)^ +\d+ `) // those of uniq, which depend on chance
	for _, step := range steps {
		command, want, _ := strings.Cut(step, "\n")
		output, err := exec.Command("bash", "-c",
			strings.ReplaceAll(command, "localhost:8080", strings.TrimPrefix(p.url, "http://"))).CombinedOutput()
		got := counts.ReplaceAllString(strings.TrimRight(string(output), "\n"), "N ")
		if diff := cmp.Diff(counts.ReplaceAllString(strings.TrimRight(want, "\n"), "N "), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", command, err, diff)
		}
	}
	return len(steps)
}
