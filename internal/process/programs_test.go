package process_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// build compiles the operator and all programs in cmd with release settings, and returns the paths of the executables.
func build(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir() + "/"
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v9.8.7", "-o", folder, ".", "./cmd/...")
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases, and although the race detector requires cgo
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	programs, err := filepath.Glob(folder + "*")
	if err != nil || len(programs) < 6 {
		t.Fatalf("the programs are %v, %v", programs, err)
	}
	return programs
}

// run executes a program with HOME as its only environment variable.
func run(t *testing.T, program string, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, err := &strings.Builder{}, &strings.Builder{}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env, command.Stdout, command.Stderr = []string{"HOME=" + os.TempDir()}, out, err
	if failed := command.Run(); failed != nil && !errors.As(failed, new(*exec.ExitError)) {
		t.Fatal(failed)
	}
	return command.ProcessState.ExitCode(), out.String(), err.String()
}

// TestParse_printsUsageInEachProgram checks that each program prints its version and its usage, describes each flag, and prints the usage
// above an error.
func TestParse_printsUsageInEachProgram(t *testing.T) {
	version := regexp.MustCompile(`^[a-z-]+ v9\.8\.7 \(go1\.\S+ \w+/\w+\)\n$`)
	described := regexp.MustCompile(`^ +(?:-\w, |    )--\S+(?: \S+)? {2,}\S+ \S+`)
	for _, program := range build(t) {
		t.Run(filepath.Base(program), func(t *testing.T) {
			if code, stdout, stderr := run(t, program, "--version"); code != 0 || !version.MatchString(stdout) || stderr != "" {
				t.Errorf("--version exits with %d, and prints %q and %q", code, stdout, stderr)
			}
			code, stdout, stderr := run(t, program, "--help")
			if code != 0 || !strings.Contains(stdout, "Usage:") || !strings.Contains(stdout, " --version") || stderr != "" {
				t.Errorf("--help exits with %d, and prints %q and %q", code, stdout, stderr)
			}
			_, flags, _ := strings.Cut(stdout, "\nFlags:\n")
			flags, _, _ = strings.Cut(flags, "\n\n")
			for line := range strings.Lines(flags) {
				if !described.MatchString(line) {
					t.Errorf("--help does not describe a flag: %q", line)
				}
			}
			code, stdout, stderr = run(t, program, "--nonsense")
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if last := lines[len(lines)-1]; code == 0 || stdout != "" || !strings.HasPrefix(lines[0], "Usage:") ||
				!strings.HasSuffix(last, ": unknown flag: --nonsense") {
				t.Errorf("--nonsense exits with %d, and prints %q and %q", code, stdout, stderr)
			}
		})
	}
}
