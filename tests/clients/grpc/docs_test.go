package grpc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// documented returns the text that follows the given words on a documentation page.
func documented(t *testing.T, page, words string) string {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(document), words)
	return rest
}

// documentedSection returns a section of a documentation page.
func documentedSection(t *testing.T, page, heading string) string {
	t.Helper()
	section, _, _ := strings.Cut(documented(t, page, "\n"+heading+"\n"), "\n## ")
	return section
}

// TestGRPCOfTheDocumentation runs the commands in a documentation section, and expects the output that the section shows.
func TestGRPCOfTheDocumentation(t *testing.T) {
	section := documentedSection(t, "docs/reference/echo-server.md", "## gRPC")
	var steps []string
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(section, -1) {
		steps = append(steps, strings.Split("\n"+block[1], "\n$ ")[1:]...)
	}
	if len(steps) != 5 {
		t.Fatalf("%d commands are found", len(steps))
	}
	address := clients.Start(t)
	folder := grpcurl(t)
	for _, step := range steps {
		command, want, _ := strings.Cut(step, "\n")
		run := exec.CommandContext(soon(t), "bash", "-c", strings.ReplaceAll(command, "localhost:8080", address))
		run.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		output, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", command, err, output)
		}
		got := withoutVolatile(string(output))
		for line := range strings.Lines(withoutVolatile(want)) {
			line, _, _ = strings.Cut(line, "...") // the documentation omits the rest
			if !strings.Contains(got, line) {
				t.Errorf("%s: %q is not in %s", command, line, got)
			}
		}
	}
}

// TestCallsOfTheHowTo runs the calls from the gRPC page. The second call must fail with the status that the page shows.
func TestCallsOfTheHowTo(t *testing.T) {
	_, page, _ := strings.Cut(documented(t, "docs/how-to/grpc.md", "with [grpcurl]"), "```sh\n")
	calls := strings.Split(page, "\n")
	address, folder := clients.Start(t), grpcurl(t)
	for i, want := range []string{`"message": "hello"`, "Code: Unavailable"} {
		run := exec.CommandContext(soon(t), "bash", "-c", strings.ReplaceAll(calls[i], "localhost:8080", address))
		run.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		output, err := run.CombinedOutput()
		if (err == nil) != (i == 0) || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v: %s", calls[i], err, output)
		}
	}
}

// withoutVolatile removes values that differ between runs. It also removes commas at the end of a line, because they depend on omitted
// text, and spaces after other commas, because they may differ between builds of grpcurl.
func withoutVolatile(text string) string {
	volatile := regexp.MustCompile(`("(?:authority|requestId|remoteAddress|version)": )"[^"]*"`)
	return strings.NewReplacer(",\n", "\n", ", ", ",").Replace(volatile.ReplaceAllString(text, `$1""`))
}

// grpcurl builds grpcurl and returns the directory that contains it.
func grpcurl(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return folder
}
