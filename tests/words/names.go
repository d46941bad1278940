package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// testNames finds unit tests whose names do not start with the name of a function, method, or type, so that go test -run cannot find them by
// that name.
type testNames struct {
	declared map[string]bool // the names of functions, methods, and types, in lower case
	tests    []namedTest
}

type namedTest struct{ file, name string }

// add records the declarations of a Go file. It ignores the directories tests and tools, because most of their tests check programs and
// documents instead of identifiers.
func (n *testNames) add(file, content string) error {
	if strings.HasPrefix(file, "tests/") || strings.HasPrefix(file, "tools/") {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declaration := range parsed.Decls {
		if strings.HasSuffix(file, "_test.go") {
			n.addTest(file, declaration)
		} else {
			n.declare(declaration)
		}
	}
	return nil
}

func (n *testNames) addTest(file string, declaration ast.Decl) {
	if function, is := declaration.(*ast.FuncDecl); is && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") {
		n.tests = append(n.tests, namedTest{file, function.Name.Name})
	}
}

func (n *testNames) declare(declaration ast.Decl) {
	if n.declared == nil {
		n.declared = map[string]bool{}
	}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		n.declared[strings.ToLower(d.Name.Name)] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if named, is := spec.(*ast.TypeSpec); is {
				n.declared[strings.ToLower(named.Name.Name)] = true
			}
		}
	}
}

// problems returns an error for each test whose name does not start with a declared name.
func (n *testNames) problems() []error {
	var problems []error
	for _, test := range n.tests {
		head, _, _ := strings.Cut(strings.TrimPrefix(test.name, "Test"), "_")
		if !n.declared[strings.ToLower(head)] {
			problems = append(problems, fmt.Errorf("%s: %s: start the name with a function, method, or type: TestFunction_case or TestType_behavior",
				test.file, test.name))
		}
	}
	return problems
}
