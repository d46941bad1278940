// strip-descriptions removes the descriptions below fields from the schema of a CustomResourceDefinition.
//
// usage: strip-descriptions FILE FIELD...      (a FIELD is a path as in kubectl explain: spec.env)
//
// It is meant for fields with types of Kubernetes, whose descriptions change with each release of Kubernetes: OLM v1 rejects upgrades that
// change the description of an existing field, and the descriptions are most of the file. The descriptions of the FIELDs are not removed.
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: strip-descriptions FILE FIELD...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "strip-descriptions: "+err.Error())
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
		for _, field := range fields {
			path := []string{"schema", "openAPIV3Schema"}
			for name := range strings.SplitSeq(field, ".") {
				path = append(path, "properties", name)
			}
			schema, err := yaml.NewRNode(version).Pipe(yaml.Lookup(path...))
			if err != nil {
				return fmt.Errorf("%s: field %s: %w", file, field, err)
			}
			if schema == nil {
				return fmt.Errorf("%s has no field %s", file, field)
			}
			for _, key := range []string{"items", "properties", "additionalProperties"} {
				if below, err := schema.Pipe(yaml.Lookup(key)); err == nil && below != nil {
					strip(below.YNode(), key == "properties")
				}
			}
		}
	}
	return yaml.WriteFile(crd, file)
}

// strip removes all descriptions in a schema. If names is true, node is a map of names to schemas, and "description" is a name.
func strip(node *yaml.Node, names bool) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			strip(item, false)
		}
	case yaml.MappingNode:
		kept := node.Content[:0]
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if key.Value == "description" && !names {
				continue
			}
			strip(value, key.Value == "properties" && !names)
			kept = append(kept, key, value)
		}
		node.Content = kept
	}
}
