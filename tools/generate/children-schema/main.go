// children-schema prints the part of a server-side apply schema that describes some types and the types that they refer to. Reading the
// schema of all types would slow down each start of the operator by 0.1 s, and permanently occupy 10 MB of memory.
//
// usage: children-schema FILE TYPE...
//
// FILE is applyconfigurations/internal/internal.go from client-go, or the corresponding file from another module. A TYPE has a form like
// io.k8s.api.apps.v1.Deployment.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "children-schema: "+err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("give a file with a schema and the names of types")
	}
	text, err := schemaIn(arguments[0])
	if err != nil {
		return err
	}
	part, err := partOf(text, arguments[1:])
	if err != nil {
		return err
	}
	_, err = fmt.Print("# Made by `make generate` from a schema of server-side apply.\n" + part)
	return err
}

// schemaIn returns the schema that a Go file contains as a string constant.
func schemaIn(path string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return "", err
	}
	longest := ""
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && len(literal.Value) > len(longest) {
			longest = literal.Value
		}
		return true
	})
	return strconv.Unquote(longest)
}

// partOf returns the part of a schema that describes the named types and the types that they refer to. It preserves the order of the types.
func partOf(schema string, names []string) (string, error) {
	document, err := yaml.Parse(schema)
	if err != nil {
		return "", fmt.Errorf("reading the schema: %w", err)
	}
	types := document.Field("types")
	if types == nil {
		return "", errors.New("the schema has no types")
	}
	elements, err := types.Value.Elements()
	if err != nil {
		return "", err
	}
	needed, err := neededBy(names, elements)
	if err != nil {
		return "", err
	}
	part := yaml.NewListRNode()
	for _, each := range elements {
		if needed[nameOf(each)] {
			part.YNode().Content = append(part.YNode().Content, each.YNode())
		}
	}
	result := yaml.NewMapRNode(nil)
	if err := result.PipeE(yaml.SetField("types", part)); err != nil {
		return "", err
	}
	return result.String()
}

// neededBy returns the names of the given types and all types that they refer to.
func neededBy(names []string, types []*yaml.RNode) (map[string]bool, error) {
	all, needed := map[string]*yaml.RNode{}, map[string]bool{}
	for _, each := range types {
		all[nameOf(each)] = each
	}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if needed[name] {
			continue
		}
		if all[name] == nil {
			return nil, fmt.Errorf("the schema has no type %s", name)
		}
		needed[name] = true
		names = append(names, references(all[name].YNode())...)
	}
	return needed, nil
}

func nameOf(node *yaml.RNode) string { return yaml.GetValue(node.Field("name").Value) }

// references returns the names of all types that a node in the schema refers to.
func references(node *yaml.Node) []string {
	var names []string
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "namedType" {
			names = append(names, child.Value)
		}
		names = append(names, references(child)...)
	}
	return names
}
