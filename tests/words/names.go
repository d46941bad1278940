package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// testNames finds tests that `go test -run` does not find by the name of the function, method, or type that they test.
type testNames struct {
	declared map[string]bool // the names of functions, methods, and types, in lower case
	tests    []namedTest
}

type namedTest struct{ file, name string }

// add records the declarations of a Go file. The tests in the directories tests and tools check programs and documents, which have no
// identifier.
func (n *testNames) add(file, content string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	isTest := strings.HasSuffix(file, "_test.go")
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if !isTest {
				n.declare(d.Name.Name)
			} else if strings.HasPrefix(d.Name.Name, "Test") && !strings.HasPrefix(file, "tests/") && !strings.HasPrefix(file, "tools/") {
				n.tests = append(n.tests, namedTest{file, d.Name.Name})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if named, is := spec.(*ast.TypeSpec); is && !isTest {
					n.declare(named.Name.Name)
				}
			}
		}
	}
	return nil
}

func (n *testNames) declare(name string) {
	if n.declared == nil {
		n.declared = map[string]bool{}
	}
	n.declared[strings.ToLower(name)] = true
}

// problems returns an error for each test whose name does not start with a declared name.
func (n *testNames) problems() []error {
	var problems []error
	for _, test := range n.tests {
		head, _, _ := strings.Cut(strings.TrimPrefix(test.name, "Test"), "_")
		if !n.declared[strings.ToLower(head)] {
			problems = append(problems, fmt.Errorf("%s: %s: start the name with the function, method, or type that it tests: TestFunction_case",
				test.file, test.name))
		}
	}
	return problems
}
