package main

import (
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// structs are the types of the API by name.
type structs map[string]*ast.StructType

// fields returns the paths of the fields of an Echo that have no fields of their own in the API, such as spec.checks[].name. The fields of
// types that Kubernetes owns are not counted: they are documented there.
func fields(root string) ([]string, error) {
	files, err := sources(root, "api/v1")
	if err != nil {
		return nil, err
	}
	types := structs{}
	for _, file := range files {
		ast.Inspect(file.File, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if body, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = body
				}
			}
			return true
		})
	}
	return append(types.leaves("EchoSpec", "spec"), types.leaves("EchoStatus", "status")...), nil
}

// leaves returns the paths of the leaves of a type, which itself is at a path.
func (s structs) leaves(name, path string) []string {
	body, ok := s[name]
	if !ok {
		return []string{path}
	}
	var all []string
	for _, field := range body.Fields.List {
		inner, suffix := element(field.Type)
		name := jsonName(field)
		if name == "" {
			all = append(all, s.leaves(inner, path)...)
			continue
		}
		all = append(all, s.leaves(inner, path+"."+name+suffix)...)
	}
	return all
}

// jsonName returns the name of a field in JSON, empty if its own fields take its place.
func jsonName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// element returns the name of the type of a field, without pointers and lists, and what its path ends with. The name is empty if the type is
// of another package.
func element(expression ast.Expr) (name, suffix string) {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return element(e.X)
	case *ast.ArrayType:
		name, _ = element(e.Elt)
		return name, "[]"
	case *ast.Ident:
		return e.Name, ""
	}
	return "", ""
}

// reasons returns the reasons of conditions and events: the constants of these types.
func reasons(root string) ([]string, error) {
	files, err := sources(root, "api/v1")
	var all []string
	for _, file := range files {
		ast.Inspect(file.File, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && isNamed(spec.Type, []string{"NormalReason", "WarningReason"}) {
				all = append(all, firstLiteral(spec.Values))
			}
			return true
		})
	}
	return all, err
}
