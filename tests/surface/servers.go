package main

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck"
)

var (
	headerName = regexp.MustCompile(`^(X-)?Echo-[A-Z][A-Za-z-]*$`)
	metricName = regexp.MustCompile(`^echo_[a-z_]+[a-z]$`)
	factName   = regexp.MustCompile(`^([a-zA-Z]+)((\.[a-zA-Z]+)*)$`)
)

// controls returns the controls of the echo server: the names that the method set of its controls knows.
func controls(root string) ([]string, error) {
	files, err := sources(root, "echoserver")
	var all []string
	for _, file := range files {
		for _, declaration := range file.Decls {
			method, ok := declaration.(*ast.FuncDecl)
			if !ok || method.Name.Name != "set" || method.Recv == nil || !isOf(method, "controls") {
				continue
			}
			ast.Inspect(method, func(node ast.Node) bool {
				if branch, ok := node.(*ast.CaseClause); ok && len(branch.List) > 0 {
					all = append(all, "echo."+firstLiteral(branch.List))
				}
				return true
			})
		}
	}
	return all, err
}

// isOf reports whether the receiver of a method is a pointer to a type.
func isOf(method *ast.FuncDecl, typeName string) bool {
	pointer, ok := method.Recv.List[0].Type.(*ast.StarExpr)
	return ok && isNamed(pointer.X, []string{typeName})
}

// headers returns the headers that the echo server names, besides those of its controls.
func headers(root string) ([]string, error) {
	return literalsLike(root, headerName, "echoserver", "internal/proof")
}

// literalsLike returns the strings in some folders that match an expression.
func literalsLike(root string, expression *regexp.Regexp, folders ...string) ([]string, error) {
	files, err := sources(root, folders...)
	var all []string
	for _, file := range files {
		for _, text := range file.literals() {
			if expression.MatchString(text) {
				all = append(all, text)
			}
		}
	}
	return all, err
}

// metrics returns the metrics of the echo server and of the operator. Those of libraries are not counted.
func metrics(root string) ([]string, error) {
	texts, err := literalsLike(root, metricName, "echoserver", "internal/monitoring")
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(texts, func(text string) bool { return text == "echo_namespace" }) // a label
	files, err := sources(root, "internal/monitoring")
	for _, file := range files {
		ast.Inspect(file.File, func(node ast.Node) bool {
			if sum, ok := node.(*ast.BinaryExpr); ok && isNamed(sum.X, []string{"prefix"}) {
				if name, ok := literal(sum.Y); ok {
					all = append(all, "echo_operator_"+name)
				}
			}
			return true
		})
	}
	return all, err
}

// pageOfMetric returns the page of a metric.
func pageOfMetric(name string) string {
	if strings.HasPrefix(name, "echo_operator_") || strings.HasPrefix(name, "echo_not_ready_") {
		return "docs/metrics.md"
	}
	return "docs/echo-server.md"
}

// facts returns the facts that pathcheck examines: names that begin with one of its groups.
func facts(root string) ([]string, error) {
	groups, _ := pathcheck.GroupNames()
	known := map[string]bool{}
	for _, group := range groups {
		known[group] = true
	}
	texts, err := literalsLike(root, factName, "pathcheck")
	var all []string
	for _, text := range texts {
		if first, rest, _ := strings.Cut(text, "."); known[first] && rest != "" {
			all = append(all, text)
		}
	}
	return all, err
}
