// Package mutants puts bugs into the product, one at a time, and reports which test catches each of them. Some are known bugs of the operator,
// which a test must catch. Others are drawn from all changes that a few rules allow, so that no one chooses bugs that the tests are good at. A
// suite that misses these bugs probably also misses unknown bugs. The go command's overlay replaces a file with a changed copy, so the source
// tree stays unchanged.
//
// The tests run only with RELIABILITY=all.
package mutants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	// root is the root directory of the repository.
	root = "../../.."
	// total is the number of mutants: the known bugs, and changes that are drawn.
	total = 120
)

// TestEveryMutantIsCaught reintroduces each known bug, and runs the test that must catch it. If MUTANTS is set, it also draws changes to the
// product, and writes to the file MUTANTS which test catches each mutant.
func TestEveryMutantIsCaught(t *testing.T) {
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("set RELIABILITY=all to run this test")
	}
	all, path, lines, changes := declarations(t), os.Getenv("MUTANTS"), []string{}, map[string][]change{}
	for _, m := range mutants() {
		changes[""] = append(changes[""], m.change(t, all))
	}
	if path != "" {
		changes["drawn/"] = draw(t, all, total-len(mutants()))
	}
	for _, kind := range slices.Sorted(maps.Keys(changes)) {
		for _, c := range changes[kind] {
			t.Run(kind+c.name, func(t *testing.T) {
				line, isCaught, output := c.try(t)
				t.Log(line)
				if lines = append(lines, line); path != "" {
					NewWithT(t).Expect(os.WriteFile(path, report(lines), 0o600)).To(Succeed())
				}
				if !isCaught && kind == "" { // a change that was drawn may make no difference
					t.Fatalf("%v does not catch the bug: %s", c.stages[0].command, output)
				}
			})
		}
	}
}

// TestEveryMutantIsOfToday checks that, for each known bug, the code contains the text to replace and the names that the new text uses.
func TestEveryMutantIsOfToday(t *testing.T) {
	all := declarations(t)
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			unknown := unknownNames(string(read(t, m.change(t, all).path)), m.new)
			NewWithT(t).Expect(unknown).To(BeEmpty(), "a mutant that does not compile cannot be caught by a test")
		})
	}
}

// name matches a Go identifier that is not preceded by a dot.
var name = regexp.MustCompile(`(?:^|[^.\w])([a-zA-Z_]\w*)`)

// unknownNames returns the names in an expression that neither occur in the file nor are built into Go.
func unknownNames(file, expression string) []string {
	var unknown []string
	for _, match := range name.FindAllStringSubmatch(expression, -1) {
		isUsed := regexp.MustCompile(`\b` + match[1] + `\b`).MatchString(file)
		if !isUsed && types.Universe.Lookup(match[1]) == nil && !token.IsKeyword(match[1]) && match[1] != "_" {
			unknown = append(unknown, match[1])
		}
	}
	return unknown
}

// change returns the change that a known bug makes. Exactly one declaration must have the specified name, and contain the old text once.
func (m mutant) change(t *testing.T, all []declaration) change {
	t.Helper()
	g := NewWithT(t)
	with := slices.DeleteFunc(slices.Clone(all), func(d declaration) bool {
		return !slices.Contains(d.names, m.in) || !strings.Contains(d.text, m.old)
	})
	g.Expect(with).To(HaveLen(1), "exactly one declaration named %s must contain this: %s", m.in, m.old)
	g.Expect(strings.Count(with[0].text, m.old)).To(Equal(1), "%s must contain this exactly once: %s", m.in, m.old)
	start := with[0].start + strings.Index(with[0].text, m.old)
	command := []string{"go", "test", "-trimpath", "-count=1", "-failfast", "-timeout=0", "-run=" + m.by, m.of}
	return change{m.name, with[0].path, start, start + len(m.old), m.new, []stage{{"its test", command}}}
}

// caught matches what go test and Ginkgo print about a test that fails or hangs.
var caught = regexp.MustCompile(`--- FAIL: \S+|\[(FAIL|TIMEDOUT|PANICKED!)\] .+|panic: test timed out|FAIL\t\S+`)

// change is a mutant: new text in a file.
type change struct {
	name       string
	path       string // of the file, from the root of the repository
	start, end int    // byte offsets in the file
	new        string
	stages     []stage
}

// stage is a command that runs tests, and what they are called in the report.
type stage struct {
	name    string
	command []string
}

// goTest returns a command that runs tests, except those that measure, which skip themselves. Go's cache leaves out the tests of packages
// that do not use the changed code.
func goTest(arguments ...string) []string {
	return append([]string{"env", "RELIABILITY=", "go", "test", "-trimpath", "-short", "-failfast", "-parallel=6", "-timeout=5m"}, arguments...)
}

// stages returns the stages in STAGES for changes to a package of the product. The package's own tests are the most likely to fail.
func stages(folder string, product []string) []stage {
	all := []stage{
		{"packages", goTest(folder)},
		{"packages", goTest(product...)},
		// The first two build programs, which the cache does not notice, and the last has the truth table, which -short leaves out.
		{"packages", goTest("-count=1", "-short=false", "./internal/process", "./echoserver/server", "./pathcheck")},
		{"sweep", goTest("./tests/reliability", "-timeout=30m")},
		{"singles", []string{"go", "test", "-trimpath", "-failfast", "-timeout=0", "-run=TestSingleFaults", "./tests/reliability"}},
		{"integration", []string{"tools/make/ginkgo", "6", "30m", "./tests/integration", "--fail-fast", "--no-color"}},
	}
	asked := strings.Split(cmp.Or(os.Getenv("STAGES"), "packages,sweep,integration"), ",")
	return slices.DeleteFunc(all, func(s stage) bool { return !slices.Contains(asked, s.name) })
}

// run runs tests of the changed code. It returns what was printed about the test that failed, if any, and the output.
func (c change) run(t *testing.T, arguments ...string) (test, output string) {
	t.Helper()
	g := NewWithT(t)
	content := read(t, c.path)
	replaced, err := filepath.Abs(filepath.Join(root, c.path))
	g.Expect(err).NotTo(HaveOccurred())
	changed, list := filepath.Join(t.TempDir(), filepath.Base(c.path)), filepath.Join(t.TempDir(), "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{replaced: changed}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(changed, slices.Concat(content[:c.start], []byte(c.new), content[c.end:]), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(list, overlay, 0o600)).To(Succeed())
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+list) // also for programs that the tests build
	combined, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	g.Expect(string(combined)).NotTo(ContainSubstring("[build failed]"), "a change that does not compile cannot be caught by a test")
	if err != nil {
		test = cmp.Or(caught.FindString(string(combined)), "the command fails")
	}
	return test, string(combined)
}

// try runs stages until a test fails. It returns a line with tabs that says which, whether there was one, and the last output.
func (c change) try(t *testing.T) (line string, isCaught bool, output string) {
	t.Helper()
	began, verdict, test := time.Now(), "survives", ""
	for i := 0; i < len(c.stages) && test == ""; i++ {
		if test, output = c.run(t, c.stages[i].command...); test != "" {
			verdict = "caught by " + c.stages[i].name
		}
	}
	place := fmt.Sprintf("%s:%d", c.path, 1+bytes.Count(read(t, c.path)[:c.start], []byte("\n")))
	seconds := fmt.Sprintf("%.0f s", time.Since(began).Seconds())
	return strings.Join([]string{c.name, "=> " + oneLine(c.new), verdict, test, place, seconds}, "\t"), test != "", output
}

// report returns the lines, and how many there are with each verdict in each package.
func report(lines []string) []byte {
	counts := map[string]int{}
	for _, line := range lines {
		columns := strings.Split(line, "\t")
		counts[filepath.Dir(columns[4])+": "+columns[2]]++
	}
	text := strings.Join(lines, "\n") + "\n"
	for _, verdict := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%s: %d\n", verdict, counts[verdict])
	}
	return []byte(text)
}
