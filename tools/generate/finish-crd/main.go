// finish-crd completes a CustomResourceDefinition that controller-gen has generated.
//
// usage: finish-crd FILE [-]FIELD...      (a FIELD is a path as in kubectl explain: spec.env)
//
// finish-crd adds the object's name to the schema, so that a rule can report the name as the invalid field. The FIELDs have Kubernetes
// types, and finish-crd removes descriptions and defaults below them. Descriptions change with each Kubernetes release and make up most of
// the file. OLM v1 rejects upgrades that change the description of an existing field. The defaults are for fields in nested objects that do
// not exist by default. A form that submits these defaults, as the OpenShift console's form does, requests a reference to nothing.
// finish-crd preserves the descriptions of the FIELDs themselves. If a FIELD follows "-", finish-crd removes the field, because the field
// requires another pod field that an Echo does not have. Kubernetes would reject each pod with that field.
//
// The generated pattern for quantities accepts exponents that resource.Quantity cannot parse, or takes minutes to parse. One object with
// such a quantity would stop the operator in all namespaces, because no list that contains the object can be decoded. Below the FIELDs,
// finish-crd replaces the pattern with a pattern that accepts only quantities that resource.Quantity can parse quickly. Kubernetes 1.30
// also accepts numbers with more than 32 bits despite the format int32. Such a number would also stop the operator. finish-crd therefore
// adds bounds to such fields.
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: finish-crd FILE [-]FIELD...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "finish-crd: "+err.Error())
		os.Exit(1)
	}
}

func run(file string, fields []string) error {
	crd, err := yaml.ReadFile(file)
	if err != nil {
		return err
	}
	versions, err := crd.Pipe(yaml.Lookup("spec", "versions"))
	if err != nil || versions == nil {
		return fmt.Errorf("%s has no spec.versions (%w)", file, err)
	}
	for _, version := range versions.Content() {
		if err := finish(yaml.NewRNode(version), fields); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return yaml.WriteFile(crd, file)
}

// finish completes a version's schema.
func finish(version *yaml.RNode, fields []string) error {
	name, err := yaml.Parse("type: string\n")
	if err != nil {
		return err
	}
	if _, err := version.Pipe(yaml.Lookup(pathOf("metadata")...), yaml.LookupCreate(yaml.MappingNode, "properties"),
		yaml.SetField("name", name)); err != nil {
		return err
	}
	for _, field := range fields {
		if removed, found := strings.CutPrefix(field, "-"); found {
			if err := remove(version, removed); err != nil {
				return err
			}
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
				strip(below.YNode(), key == "properties")
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

// strip removes all descriptions and defaults in a schema. If names is true, node maps field names to schemas, and "description" can be one
// of these names.
func strip(node *yaml.Node, names bool) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			strip(item, false)
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
			strip(value, key.Value == "properties" && !names)
			kept = append(kept, key, value)
		}
		kept = append(kept, missingBounds(kept)...)
		node.Content = kept
	}
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
