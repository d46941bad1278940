package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// fields returns the fields of an Echo that have no documented subfields, such as spec.checks[].name. Subfields of Kubernetes' own types
// have no description in the CustomResourceDefinition, because Kubernetes documents them.
func fields(root string) ([]name, error) {
	text, err := os.ReadFile(filepath.Join(root, "config/crd/bases/example.com_echoes.yaml"))
	if err != nil {
		return nil, err
	}
	crd := apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	return append(leaves("spec", schema["spec"]), leaves("status", schema["status"])...), nil
}

// leaves returns the leaf fields in the schema of the field at a path.
func leaves(path string, schema apiextensionsv1.JSONSchemaProps) []name {
	if schema.Items != nil {
		return leaves(path+"[]", *schema.Items.Schema)
	}
	var all []name
	for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
		if schema.Properties[field].Description != "" {
			all = append(all, leaves(path+"."+field, schema.Properties[field])...)
		}
	}
	if len(all) == 0 {
		last := strings.TrimSuffix(path[strings.LastIndex(path, ".")+1:], "[]")
		return []name{{path, "docs/reference/api.md", "`" + last + "`"}}
	}
	return all
}
