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

// TestGRPCOfTheDocumentation runs the commands of a section of the documentation, and looks for what it says of their output.
func TestGRPCOfTheDocumentation(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "echo-server.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "\n## gRPC\n")
	_, block, _ := strings.Cut(section, "```text\n")
	block, _, _ = strings.Cut(block, "```")
	steps := strings.Split("\n"+block, "\n$ ")[1:]
	if len(steps) != 4 {
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
			if !strings.Contains(line, "...") && !strings.Contains(got, line) {
				t.Errorf("%s: %q is not in %s", command, line, got)
			}
		}
	}
}

// withoutVolatile replaces what differs between two runs: addresses, identifiers and commas, which depend on what was left out.
func withoutVolatile(text string) string {
	volatile := regexp.MustCompile(`("(?:authority|requestId|remoteAddress|version)": )"[^"]*"`)
	return strings.ReplaceAll(volatile.ReplaceAllString(text, `$1""`), ",\n", "\n")
}

// grpcurl builds the program and returns its folder.
func grpcurl(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return folder
}
