package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// files contains the project's files.
type files = fs.FS

// contents returns, by path, the content of each file whose name has the given ending. Build output and hidden directories are omitted.
func contents(root files, ending string) (map[string]string, error) {
	found := map[string]string{}
	return found, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (base == "bin" || base == "dist" || base == "node_modules" || len(base) > 1 && base[0] == '.'):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(base, ending):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		found[name] = string(text)
		return err
	})
}

// call is a call that reads all fences of a page, the fences in a section, or the first fence after the given words.
type call struct{ at, kind, page, words string }

// calls returns the calls with which tests read fences.
func calls(root files) ([]call, error) {
	sources, err := contents(root, "_test.go")
	if err != nil {
		return nil, err
	}
	set, parsed := token.NewFileSet(), map[string][]*ast.File{} // by directory
	for name, text := range sources {
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed[path.Dir(name)] = append(parsed[path.Dir(name)], file)
	}
	var all []call
	for _, folder := range parsed {
		constants := constantsOf(folder)
		for _, file := range folder {
			ast.Inspect(file, func(node ast.Node) bool {
				if expression, ok := node.(*ast.CallExpr); ok {
					if read, ok := callOf(expression, constants); ok {
						read.at = set.Position(node.Pos()).String()
						all = append(all, read)
					}
				}
				return true
			})
		}
	}
	return all, nil
}

// constantsOf returns the string constants in a directory's source files, by name. If several constants with the same name have different
// values, the value is "".
func constantsOf(folder []*ast.File) map[string]string {
	found := map[string]string{}
	for _, file := range folder {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, name := range spec.Names {
				value, isText := literal(spec.Values[i])
				if before, exists := found[name.Name]; !isText || exists && before != value {
					value = ""
				}
				found[name.Name] = value
			}
			return true
		})
	}
	return found
}

func literal(node ast.Expr) (string, bool) {
	text, ok := node.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}

// callOf returns a call's arguments: the first string that names a page, and the string that follows it.
func callOf(expression *ast.CallExpr, constants map[string]string) (call, bool) {
	name := ""
	switch function := expression.Fun.(type) {
	case *ast.Ident:
		name = function.Name
	case *ast.SelectorExpr:
		name = function.Sel.Name
	}
	kind, ok := strings.CutPrefix(strings.ToLower(name), "documented")
	if !ok {
		return call{}, false
	}
	read := call{kind: kind}
	for _, argument := range expression.Args {
		value, _ := literal(argument)
		if identifier, ok := argument.(*ast.Ident); ok {
			value = constants[identifier.Name]
		}
		switch {
		case read.page == "" && strings.HasSuffix(value, ".md"):
			read.page = value
		case read.page != "" && read.words == "":
			read.words = value
		}
	}
	return read, read.page != ""
}
