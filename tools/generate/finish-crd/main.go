// finish-crd completes a CustomResourceDefinition that controller-gen has generated.
//
// usage: finish-crd FILE [-]FIELD...      (a FIELD is a path as in kubectl explain: spec.env)
//
// finish-crd adds the object's name to the schema, so that a rule can report the name as the invalid field. The FIELDs have Kubernetes
// types. Below them, finish-crd replaces each description with the one in descriptions.yaml, because descriptions change with each
// Kubernetes release, and OLM v1 rejects upgrades that change the description of an existing field. A field without a description in
// descriptions.yaml, such as a new field in Kubernetes, is an error. finish-crd removes the defaults below the FIELDs. The defaults are for
// fields in nested objects that do not exist by default. A form that submits these defaults, as the OpenShift console's form does, requests
// a reference to nothing. finish-crd preserves the descriptions of the FIELDs themselves. If a FIELD follows "-", finish-crd removes the
// field, because the field requires another pod field that an Echo does not have. Kubernetes would reject each pod with that field.
//
// The generated pattern for quantities accepts exponents that resource.Quantity cannot parse, or takes minutes to parse. One object with
// such a quantity would stop the operator in all namespaces, because no list that contains the object can be decoded. Below the FIELDs,
// finish-crd replaces the pattern with a pattern that accepts only quantities that resource.Quantity can parse quickly. Kubernetes 1.30
// also accepts numbers with more than 32 bits despite the format int32. Such a number would also stop the operator. finish-crd therefore
// adds bounds to such fields.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

//go:embed descriptions.yaml
var ownDescriptions string

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: finish-crd FILE [-]FIELD...")
		os.Exit(2)
	}
	if err := run(os.Args[1], ownDescriptions, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "finish-crd: "+err.Error())
		os.Exit(1)
	}
}

func run(file, texts string, fields []string) error {
	var table descriptions
	if err := yaml.Unmarshal([]byte(texts), &table.texts); err != nil {
		return err
	}
	crd, err := yaml.ReadFile(file)
	if err != nil {
		return err
	}
	versions, err := crd.Pipe(yaml.Lookup("spec", "versions"))
	if err != nil || versions == nil {
		return fmt.Errorf("%s has no spec.versions (%w)", file, err)
	}
	for _, version := range versions.Content() {
		if err := finish(yaml.NewRNode(version), fields, &table); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(table.missing) > 0 {
		return fmt.Errorf("%s: descriptions.yaml has no description of %s", file, strings.Join(table.missing, ", "))
	}
	return yaml.WriteFile(crd, file)
}

// finish completes a version's schema.
func finish(version *yaml.RNode, fields []string, table *descriptions) error {
	name, err := yaml.Parse("type: string\n")
	if err != nil {
		return err
	}
	if _, err := version.Pipe(yaml.Lookup(pathOf("metadata")...), yaml.LookupCreate(yaml.MappingNode, "properties"),
		yaml.SetField("name", name)); err != nil {
		return err
	}
	root, err := version.Pipe(yaml.Lookup("schema", "openAPIV3Schema", "properties"))
	if err != nil {
		return err
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if field := root.Field(name); field != nil {
			table.describe(field.Value.YNode(), name)
		}
	}
	for _, field := range fields {
		if removed, found := strings.CutPrefix(field, "-"); found {
			if err := remove(version, removed); err != nil {
				return err
			}
		}
	}
	for _, field := range fields {
		if strings.HasPrefix(field, "-") {
			continue
		}
		schema, err := version.Pipe(yaml.Lookup(pathOf(field)...))
		if err != nil {
			return fmt.Errorf("field %s: %w", field, err)
		}
		if schema == nil {
			return fmt.Errorf("it has no field %s", field)
		}
		for _, key := range []string{"items", "properties", "additionalProperties"} {
			if below, err := schema.Pipe(yaml.Lookup(key)); err == nil && below != nil {
				table.rewrite(below.YNode(), field, key == "properties")
			}
		}
	}
	return nil
}

// remove removes a field from a version's schema.
func remove(version *yaml.RNode, field string) error {
	path := pathOf(field)
	properties, err := version.Pipe(yaml.Lookup(path[:len(path)-1]...))
	if err != nil {
		return fmt.Errorf("field %s: %w", field, err)
	}
	if properties == nil || properties.Field(path[len(path)-1]) == nil {
		return fmt.Errorf("it has no field %s", field)
	}
	return properties.PipeE(yaml.Clear(path[len(path)-1]))
}

// pathOf returns the path of a field's schema in a CustomResourceDefinition version. A path element with the suffix "[]" is a list.
func pathOf(field string) []string {
	path := []string{"schema", "openAPIV3Schema"}
	for name := range strings.SplitSeq(field, ".") {
		name, isList := strings.CutSuffix(name, "[]")
		path = append(path, "properties", name)
		if isList {
			path = append(path, "items")
		}
	}
	return path
}

// quantity is the pattern that matches all strings that resource.Quantity can parse quickly.
const quantity = `^[-+]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$`

// descriptions holds the descriptions of fields by the end of the field's path, and the paths of fields without a description.
type descriptions struct {
	texts   map[string]string
	missing []string
}

// rewrite replaces the descriptions in the schema of the field at a path, and removes its defaults. If names is true, node maps field names
// to schemas, and "description" can be one of these names.
func (d *descriptions) rewrite(node *yaml.Node, path string, names bool) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			d.rewrite(item, path, false)
		}
	case yaml.MappingNode:
		isQuantity := isQuantity(node)
		kept := node.Content[:0]
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if (key.Value == "description" || key.Value == "default") && !names {
				continue
			}
			if key.Value == "pattern" && !names && isQuantity {
				value.Value = quantity
			}
			if names {
				d.rewrite(value, path+"."+key.Value, false)
				d.describe(value, path+"."+key.Value)
			} else {
				d.rewrite(value, path, key.Value == "properties")
			}
			kept = append(kept, key, value)
		}
		kept = append(kept, missingBounds(kept)...)
		node.Content = kept
	}
}

// describe sets the description in the schema of the field at a path. The longest key that matches the path applies.
func (d *descriptions) describe(schema *yaml.Node, path string) {
	for key, found := strings.ReplaceAll(path, "[]", ""), true; found; _, key, found = strings.Cut(key, ".") {
		if text := d.texts[key]; text != "" {
			at := 0
			for at < len(schema.Content) && schema.Content[at].Value < "description" { // the keys are sorted
				at += 2
			}
			if at < len(schema.Content) && schema.Content[at].Value == "description" {
				schema.Content = slices.Delete(schema.Content, at, at+2)
			}
			schema.Content = slices.Insert(schema.Content, at, yaml.NewStringRNode("description").YNode(), yaml.NewStringRNode(text).YNode())
			return
		}
	}
	d.missing = append(d.missing, path)
}

// missingBounds returns the bounds for a 32-bit number. For other schemas, and for schemas that already have bounds, it returns none.
func missingBounds(schema []*yaml.Node) []*yaml.Node {
	found := map[string]string{}
	for i := 0; i < len(schema); i += 2 {
		found[schema[i].Value] = schema[i+1].Value
	}
	if found["format"] != "int32" || found["maximum"] != "" || found["minimum"] != "" {
		return nil
	}
	return []*yaml.Node{yaml.NewStringRNode("maximum").YNode(), yaml.NewScalarRNode("2147483647").YNode(),
		yaml.NewStringRNode("minimum").YNode(), yaml.NewScalarRNode("-2147483648").YNode()}
}

// isQuantity reports whether a schema describes a quantity. Quantity is the only Kubernetes type that accepts a number or a string with a
// pattern.
func isQuantity(schema *yaml.Node) bool {
	for i := 0; i < len(schema.Content); i += 2 {
		if schema.Content[i].Value == "x-kubernetes-int-or-string" {
			return true
		}
	}
	return false
}
