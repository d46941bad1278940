package mutants

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
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

// root is the root directory of the repository.
const root = "../../.."

// caught matches the names of failed tests in go test output.
var caught = regexp.MustCompile(`--- FAIL: (\S+)`)

// TestEveryMutantIsCaught reintroduces each bug, and runs the test that must catch it.
func TestEveryMutantIsCaught(t *testing.T) {
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("set RELIABILITY=all to run this test")
	}
	total, missed, all := 0, 0, declarations(t)
	for _, m := range mutants() {
		total++
		t.Run(m.name, func(t *testing.T) {
			began := time.Now()
			output, err := m.run(t, all)
			failed := caught.FindStringSubmatch(output)
			if failed == nil {
				missed++
				t.Fatalf("%s does not catch the bug (%v): %s", m.by, err, output)
			}
			t.Logf("caught by %s of %s after %.0f s", failed[1], m.of, time.Since(began).Seconds())
		})
	}
	t.Logf("%d mutants, %d missed", total, missed)
}

// TestEveryMutantIsOfToday checks that, for each mutant, the current code contains the text to replace and the names that the new text
// uses.
func TestEveryMutantIsOfToday(t *testing.T) {
	all := declarations(t)
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			file, err := os.ReadFile(m.declaration(t, all).path)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(unknownNames(string(file), m.new)).To(BeEmpty(), "a mutant that does not compile cannot be caught by a test")
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

// declaration is a function, a method, or a group of constants.
type declaration struct {
	path       string // absolute path of the file
	start, end int    // byte offsets in the file
	text       string
}

// declarations returns all declarations in the operator's code, by declared name.
func declarations(t *testing.T) map[string][]declaration {
	t.Helper()
	g := NewWithT(t)
	all := map[string][]declaration{}
	for _, folder := range []string{"controllers", "internal"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				err = addDeclarations(all, path)
			}
			return err
		})).To(Succeed())
	}
	return all
}

func addDeclarations(all map[string][]declaration, path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, each := range file.Decls {
		start, end := files.Position(each.Pos()).Offset, files.Position(each.End()).Offset
		for _, name := range namesOf(each) {
			all[name] = append(all[name], declaration{absolute, start, end, string(content[start:end])})
		}
	}
	return nil
}

// namesOf returns the name of a function or method, or the names of constants.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if constants, ok := spec.(*ast.ValueSpec); ok {
				names = append(names, constants.Names[0].Name)
			}
		}
	}
	return names
}

// declaration returns the declaration that a mutant changes. The declaration must have the name that the mutant specifies, and contain the
// old text exactly once.
func (m mutant) declaration(t *testing.T, all map[string][]declaration) declaration {
	t.Helper()
	g := NewWithT(t)
	with := slices.DeleteFunc(slices.Clone(all[m.in]), func(d declaration) bool { return !strings.Contains(d.text, m.old) })
	g.Expect(with).To(HaveLen(1), "exactly one of the %d declarations named %s must contain this: %s", len(all[m.in]), m.in, m.old)
	g.Expect(strings.Count(with[0].text, m.old)).To(Equal(1), "%s must contain this exactly once: %s", m.in, m.old)
	return with[0]
}

// run runs the test that must catch a mutant, and returns its output.
func (m mutant) run(t *testing.T, all map[string][]declaration) (string, error) {
	t.Helper()
	g := NewWithT(t)
	d := m.declaration(t, all)
	content, err := os.ReadFile(d.path)
	g.Expect(err).NotTo(HaveOccurred())
	changed := filepath.Join(t.TempDir(), filepath.Base(d.path))
	text := string(content[:d.start]) + strings.Replace(d.text, m.old, m.new, 1) + string(content[d.end:])
	g.Expect(os.WriteFile(changed, []byte(text), 0o600)).To(Succeed())
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{d.path: changed}})
	g.Expect(err).NotTo(HaveOccurred())
	list := filepath.Join(t.TempDir(), "overlay.json")
	g.Expect(os.WriteFile(list, overlay, 0o600)).To(Succeed())
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay="+list, "-count=1", "-failfast", "-vet=off", "-timeout=0",
		"-run="+m.by, m.of)
	command.Dir = root
	output, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(output), err
}
