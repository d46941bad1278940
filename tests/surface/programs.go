package main

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"

	"connectrpc.com/connect"
)

// folders are those of the programs, and of the packages that only they are made of.
var folders = []string{"main.go", "controllers", "internal", "echoserver", "pathcheck", "kubectl-echo", "must-gather", "scorecard"}

// programs are the programs by the folder of their sources.
var programs = []struct{ folder, name, page string }{
	{"internal/watch", "manager watch", "docs/commands.md"},
	{"internal", "manager", "docs/configuration.md"},
	{"controllers", "manager", "docs/configuration.md"},
	{"main.go", "manager", "docs/configuration.md"},
	{"echoserver", "echo-server", "docs/echo-server.md"},
	{"pathcheck", "pathcheck", "docs/gateways.md"},
	{"kubectl-echo", "kubectl echo", "docs/kubectl-echo.md"},
	{"must-gather", "must-gather", "docs/must-gather.md"},
	{"scorecard", "scorecard", "CONTRIBUTING.md"},
}

var (
	flagMethod = regexp.MustCompile(`^(String|Bool|Int|Duration|StringSlice|Func)(Var)?P?$`)
	flagSet    = regexp.MustCompile(`(?i)flags$`)
	variable   = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
)

// flags returns the flags of each program, such as "pathcheck --ca-file". Those of libraries are not counted.
func flags(root string) ([]string, error) {
	files, err := sources(root, folders...)
	var all []string
	for _, file := range files {
		for _, name := range file.flags() {
			all = append(all, program(file.path)+" --"+name)
		}
	}
	return all, err
}

// program returns the name of the program that a file belongs to.
func program(file string) string {
	for _, p := range programs {
		if strings.HasPrefix(file, p.folder) {
			return p.name
		}
	}
	return path.Dir(file)
}

// flags returns the names of the flags that a file defines, by a call or in a list of settings.
func (s source) flags() []string {
	var all []string
	ast.Inspect(s.File, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if name := firstLiteral(call.Args); ok && name != "" && flagMethod.MatchString(method.Sel.Name) && isFlagSet(method.X) {
			all = append(all, name)
		}
		return true
	})
	for _, row := range s.rows("setting", "option") {
		all = append(all, firstLiteral(row.Elts))
	}
	return all
}

// isFlagSet reports whether an expression is a set of flags, by its name: flags, or command.Flags().
func isFlagSet(expression ast.Expr) bool {
	switch e := expression.(type) {
	case *ast.CallExpr:
		return isFlagSet(e.Fun)
	case *ast.SelectorExpr:
		return flagSet.MatchString(e.Sel.Name)
	case *ast.Ident:
		return flagSet.MatchString(e.Name)
	}
	return false
}

// variables returns the environment variables that the programs name: texts that look like one, and those that the echo server makes from
// the names of its flags.
func variables(root string) ([]string, error) {
	files, err := sources(root, folders...)
	var all []string
	for _, file := range files {
		for _, text := range file.literals() {
			if variable.MatchString(text) && !isStatus(text) {
				all = append(all, text)
			}
		}
		for _, row := range file.rows("option") {
			all = append(all, "ECHO_"+strings.ToUpper(strings.ReplaceAll(firstLiteral(row.Elts), "-", "_")))
		}
	}
	return all, err
}

// isStatus reports whether a text is the name of a status of gRPC, which looks like a variable.
func isStatus(text string) bool {
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		if strings.EqualFold(code.String(), text) {
			return true
		}
	}
	return false
}

// pageOfFlag returns the page of the program that has a flag.
func pageOfFlag(name string) string {
	for _, p := range programs {
		if strings.HasPrefix(name, p.name+" --") {
			return p.page
		}
	}
	return "docs/configuration.md"
}

// ofPods are the variables of echo pods that the operator sets from the pod.
var ofPods = []string{"POD_NAME", "POD_NAMESPACE", "POD_IP", "NODE_NAME", "HOST_IP", "SERVICE_NAME", "INGRESS_NAME"}

// pageOfVariable returns the page of an environment variable.
func pageOfVariable(name string) string {
	switch {
	case strings.HasPrefix(name, "ECHO_"), slices.Contains(ofPods, name):
		return "docs/echo-server.md"
	case strings.HasPrefix(name, "SCORECARD_"):
		return "CONTRIBUTING.md"
	case strings.HasPrefix(name, "KUBERNETES_"):
		return "docs/must-gather.md"
	}
	return "docs/configuration.md"
}
