package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	// seed determines which changes are drawn.
	seed = 1
	// mostPerFile is the largest number of changes that are drawn in one file.
	mostPerFile = 3
)

// declaration is a function, a method, or a group of constants or variables.
type declaration struct {
	names []string
	path  string // from the root of the repository
	start int    // byte offset in the file
	text  string
	node  ast.Decl
}

// notProduct matches the names of folders and files that are not part of the product, or that are generated.
var notProduct = regexp.MustCompile(`^(tests|tools|\..+)$|_test\.go$|^zz_generated|\.(pb|connect)\.go$`)

// declarations returns all declarations in the product's code.
func declarations(t *testing.T) (all []declaration) {
	t.Helper()
	NewWithT(t).Expect(fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && notProduct.MatchString(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case err != nil || notProduct.MatchString(entry.Name()) || filepath.Ext(path) != ".go":
			return err
		}
		all = append(all, parse(t, path, read(t, path))...)
		return nil
	})).To(Succeed())
	return all
}

// parse returns the declarations in a file.
func parse(t *testing.T, path string, content []byte) (found []declaration) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, each := range file.Decls {
		if names := namesOf(each); len(names) > 0 {
			start, end := files.Position(each.Pos()).Offset, files.Position(each.End()).Offset
			found = append(found, declaration{names, path, start, string(content[start:end]), each})
		}
	}
	return found
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
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

// anError matches an expression whose name says that it is an error.
var anError = regexp.MustCompile(`^(err$|fmt\.Errorf\(|errors\.)`)

// mistaken returns, for operators, another one for which it is easily mistaken.
func mistaken() map[token.Token]token.Token {
	return map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	}
}

// rules calls add for each change that the rules allow in a piece of code: its rule, the code to replace, and the new text.
func (d declaration) rules(n ast.Node, add func(rule string, old ast.Node, text string)) {
	switch n := n.(type) {
	case *ast.IfStmt:
		if _, hasOperator := n.Cond.(*ast.BinaryExpr); !hasOperator {
			add("negated", n.Cond, "!("+d.textOf(n.Cond)+")")
		}
		if last := len(n.Body.List) - 1; last >= 0 && strings.HasPrefix(d.textOf(n.Body.List[last]), "return") {
			add("never", n.Cond, "false && ("+d.textOf(n.Cond)+")")
		}
	case *ast.BinaryExpr:
		if other, ok := mistaken()[n.Op]; ok {
			add("operator", n, d.textOf(n.X)+" "+other.String()+" "+d.textOf(n.Y))
		}
	case *ast.ExprStmt:
		add("removed", n, "")
	case *ast.ReturnStmt:
		if last := len(n.Results) - 1; last >= 0 && anError.MatchString(d.textOf(n.Results[last])) {
			add("no error", n.Results[last], "nil")
		}
	case *ast.BasicLit:
		if number, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			add("number", n, strconv.FormatInt(number+1, 10))
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			add("boolean", n, strconv.FormatBool(n.Name == "false"))
		}
	}
}

func (d declaration) textOf(n ast.Node) string {
	return d.text[n.Pos()-d.node.Pos() : n.End()-d.node.Pos()]
}

// changes returns all changes that the rules allow in a declaration. A change is identified by its file, its function or constant, the rule
// and the old text, and, if that is not enough, a number.
func (d declaration) changes() (found []change) {
	known, in := map[string]int{}, ""
	function, isFunction := d.node.(*ast.FuncDecl)
	if isFunction {
		in = strings.TrimPrefix(d.text[:function.Name.End()-function.Pos()], "func ") // with the receiver
	}
	ast.Inspect(d.node, func(n ast.Node) bool {
		if constant, ok := n.(*ast.ValueSpec); ok && !isFunction {
			in = constant.Names[0].Name
		}
		d.rules(n, func(rule string, old ast.Node, text string) {
			name := fmt.Sprintf("%s %s %s: %s", d.path, in, rule, oneLine(d.textOf(old)))
			if known[name]++; known[name] > 1 {
				name += fmt.Sprintf(" #%d", known[name])
			}
			start := d.start + int(old.Pos()-d.node.Pos())
			found = append(found, change{name: name, path: d.path, start: start, end: start + len(d.textOf(old)), new: text})
		})
		return true
	})
	return found
}

// rank returns the place of a change in the draw, which does not depend on other changes.
func (c change) rank() uint64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, c.name)
	return rand.NewPCG(seed, hash.Sum64()).Uint64()
}

// draw draws changes to the product. Each package gets one. Each further one goes to the package with the most lines for each of its
// changes. Changes that do not compile are drawn again.
func draw(t *testing.T, all []declaration, count int) (drawn []change) {
	t.Helper()
	left, lines, perFolder, perFile := map[string][]change{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, d := range all {
		folder := "./" + filepath.Dir(d.path)
		left[folder] = append(left[folder], d.changes()...)
		lines[folder] += 1 + strings.Count(d.text, "\n")
	}
	product := slices.Sorted(maps.Keys(left))
	for _, changes := range left {
		slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.rank(), b.rank()) })
	}
	for len(drawn) < count {
		open := slices.DeleteFunc(slices.Clone(product), func(folder string) bool { return len(left[folder]) == 0 })
		folder := slices.MaxFunc(open, func(a, b string) int { return cmp.Compare(lines[a]*perFolder[b], lines[b]*perFolder[a]) })
		next := left[folder][0]
		left[folder] = left[folder][1:]
		if perFile[next.path] == mostPerFile {
			continue
		}
		if failed, _ := next.run(t, "go", "build", "-trimpath", "-o", os.DevNull, folder); failed == "" {
			perFolder[folder]++
			perFile[next.path]++
			next.stages = stages(folder, product)
			drawn = append(drawn, next)
		}
	}
	slices.SortFunc(drawn, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return drawn
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
