package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// group is a kind of text. Each group has its own limit.
type group string

const (
	docs  group = "docs"
	code  group = "comments and strings"
	tests group = "comments in tests"
)

// groups returns the groups in the order of the report.
func groups() []group { return []group{docs, code, tests} }

// groupOf returns the group of a file. It returns false if people do not write the file, or if its text is not checked.
func groupOf(file string) (group, bool) {
	switch base := path.Base(file); {
	case file == "docs/reference/api.md" || file == "docs/reference/surface.md":
		return "", false
	case strings.HasPrefix(base, "zz_generated.") || strings.Contains(file, ".pb.") || strings.Contains(file, ".connect."):
		return "", false
	case path.Ext(file) == ".md":
		return docs, true
	case path.Ext(file) != ".go":
		return "", false
	case strings.HasSuffix(base, "_test.go") || strings.HasPrefix(file, "tests/"):
		return tests, true
	default:
		return code, true
	}
}

// notProse matches fenced code and link targets in Markdown, and code within a line. Line breaks in the matches are preserved.
var notProse = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\]\\([^)\n]*\\)")

// prose returns the text that people read in a file, with the line numbers of the file.
func prose(kind group, content string) (string, error) {
	if kind == docs {
		return notProse.ReplaceAllStringFunc(content, func(code string) string {
			return " " + strings.Repeat("\n", strings.Count(code, "\n")) + " "
		}), nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "", content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	lines := make([]string, strings.Count(content, "\n")+1)
	add := func(at token.Pos, text string) { lines[files.Position(at).Line-1] += " " + text }
	for _, each := range parsed.Comments {
		for _, comment := range each.List {
			if text, found := strings.CutPrefix(comment.Text, "// "); found { // other comments are directives, or generated
				add(comment.Pos(), text)
			}
		}
	}
	if kind == code { // messages, events and help
		ast.Inspect(parsed, func(node ast.Node) bool {
			if literal, is := node.(*ast.BasicLit); is && literal.Kind == token.STRING {
				add(literal.Pos(), literal.Value)
			}
			return true
		})
	}
	return strings.Join(lines, "\n"), nil
}
