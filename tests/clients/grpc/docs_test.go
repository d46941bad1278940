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
	document, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "echo-server.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "\n## gRPC\n")
	section, _, _ = strings.Cut(section, "\n## ")
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
			line, _, _ = strings.Cut(line, "...") // what follows is left out
			if !strings.Contains(got, line) {
				t.Errorf("%s: %q is not in %s", command, line, got)
			}
		}
	}
}

// withoutVolatile replaces what differs between two runs: addresses, identifiers, and commas at the end of a line, which depend on what was
// left out. Two builds may differ in the spaces after other commas.
func withoutVolatile(text string) string {
	volatile := regexp.MustCompile(`("(?:authority|requestId|remoteAddress|version)": )"[^"]*"`)
	return strings.NewReplacer(",\n", "\n", ", ", ",").Replace(volatile.ReplaceAllString(text, `$1""`))
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
