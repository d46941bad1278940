package mutants

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// root is the root of the repository.
const root = "../../.."

// caught finds the tests that failed in the output of go test.
var caught = regexp.MustCompile(`--- FAIL: (\S+)`)

// TestEveryMutantIsCaught puts each bug back, and runs the test that must catch it.
func TestEveryMutantIsCaught(t *testing.T) {
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("set RELIABILITY=all to run it")
	}
	total, missed := 0, 0
	for _, m := range mutants() {
		total++
		t.Run(m.name, func(t *testing.T) {
			began := time.Now()
			output, err := m.run(t)
			failed := caught.FindStringSubmatch(output)
			if failed == nil {
				missed++
				t.Fatalf("%s does not catch it (%v): %s", m.by, err, output)
			}
			t.Logf("caught by %s of %s after %.0f s", failed[1], m.in, time.Since(began).Seconds())
		})
	}
	t.Logf("%d mutants, %d missed", total, missed)
}

// TestEveryMutantIsOfToday checks that the code has what each mutant changes.
func TestEveryMutantIsOfToday(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) { m.source(t) })
	}
}

// source returns the path and the text of the file that a mutant changes. It fails if the file has not what is to be changed.
func (m mutant) source(t *testing.T) (path, text string) {
	t.Helper()
	g := NewWithT(t)
	path, err := filepath.Abs(filepath.Join(root, m.file))
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(string(content), m.old)).To(Equal(1), "%s must have this exactly once: %s", m.file, m.old)
	return path, string(content)
}

// run runs the test that must catch a mutant, and returns its output.
func (m mutant) run(t *testing.T) (string, error) {
	t.Helper()
	g := NewWithT(t)
	path, text := m.source(t)
	changed := filepath.Join(t.TempDir(), filepath.Base(m.file))
	g.Expect(os.WriteFile(changed, []byte(strings.Replace(text, m.old, m.new, 1)), 0o600)).To(Succeed())
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	g.Expect(err).NotTo(HaveOccurred())
	list := filepath.Join(t.TempDir(), "overlay.json")
	g.Expect(os.WriteFile(list, overlay, 0o600)).To(Succeed())
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay="+list, "-count=1", "-failfast", "-vet=off", "-timeout=0", "-run="+m.by, m.in)
	command.Dir = root
	output, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(output), err
}
