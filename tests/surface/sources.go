package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is a file of Go, parsed. Its path is relative to the root.
type source struct {
	path string
	*ast.File
}

// sources parses the Go files in some folders of a root, without tests. A folder that does not exist has none.
func sources(root string, folders ...string) ([]source, error) {
	var all []source
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			name, _ := filepath.Rel(root, path)
			all = append(all, source{name, file})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// literals returns the strings in a file, as they are at run time. Those of struct tags and imports are not among them.
func (s source) literals() []string {
	var all []string
	ast.Inspect(s.File, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if text, ok := literal(node); ok {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}

// literal returns the text of an expression that is a string.
func literal(expression ast.Expr) (string, bool) {
	basic, ok := expression.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// rows returns the elements of the lists in a file whose type has a name, such as []setting{...}.
func (s source) rows(typeNames ...string) []*ast.CompositeLit {
	var all []*ast.CompositeLit
	ast.Inspect(s.File, func(node ast.Node) bool {
		list, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		array, ok := list.Type.(*ast.ArrayType)
		if !ok || !isNamed(array.Elt, typeNames) {
			return true
		}
		for _, element := range list.Elts {
			if row, ok := element.(*ast.CompositeLit); ok {
				all = append(all, row)
			}
		}
		return true
	})
	return all
}

func isNamed(expression ast.Expr, names []string) bool {
	name, ok := expression.(*ast.Ident)
	return ok && slices.Contains(names, name.Name)
}

// firstLiteral returns the first of some expressions that is a string, empty if there is none.
func firstLiteral(expressions []ast.Expr) string {
	for _, expression := range expressions {
		if text, ok := literal(expression); ok {
			return text
		}
	}
	return ""
}
