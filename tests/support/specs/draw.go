// Package specs draws random Echo specs that follow the schema.
package specs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// Schema is the schema in a CustomResourceDefinition.
type Schema = apiextensionsv1.JSONSchemaProps

// Read returns the schema of an Echo's spec from the file with the CustomResourceDefinition.
func Read(file string) (*Schema, error) {
	crd, err := controlplane.Manifest(file, &apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		return nil, err
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &spec, nil
}

// Field is a field of the spec.
type Field struct {
	Path   []string
	Schema *Schema
}

func (f Field) child(name string, schema *Schema) Field {
	return Field{append(slices.Clone(f.Path), name), schema}
}

// Draw draws a spec with up to the given number of fields.
func Draw(t *rapid.T, spec *Schema, most int) map[string]any {
	drawn := map[string]any{}
	for range rapid.IntRange(1, most).Draw(t, "fields") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(spec.Properties))).Draw(t, "field")
		property := spec.Properties[name]
		drawn[name] = DrawValue(t, Field{[]string{name}, &property})
	}
	AddRequired(drawn)
	return drawn
}

// DrawValue draws a value for a field. The value is valid according to the schema, and Kubernetes usually accepts it.
func DrawValue(t *rapid.T, f Field) any {
	switch {
	case len(f.Schema.Enum) > 0:
		return strings.Trim(string(rapid.SampledFrom(f.Schema.Enum).Draw(t, "enum").Raw), `"`)
	case f.Schema.XIntOrString:
		return rapid.SampledFrom([]any{"1", "100m", "0.0005", "64Mi", "1Gi", "1e3", "0", int64(2), "1500m"}).Draw(t, "quantity")
	}
	switch f.Schema.Type {
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "integer":
		return drawInteger(t, f)
	case "string":
		return rapid.SampledFrom(stringsOf(f.Path)).Draw(t, "string")
	case "array":
		return drawList(t, f, rapid.IntRange(0, 2).Draw(t, "length"))
	default:
		return drawObject(t, f)
	}
}

func drawInteger(t *rapid.T, f Field) int64 {
	values := slices.Clone(integersOf(f.Path[len(f.Path)-1]))
	if f.Path[0] != "replicas" { // the operator rejects most replica counts
		for _, limit := range []*float64{f.Schema.Minimum, f.Schema.Maximum} {
			if limit != nil {
				values = append(values, int64(*limit))
			}
		}
	}
	return rapid.SampledFrom(values).Draw(t, "integer")
}

// drawList draws a list with at most the given number of items. It omits items that have the same key as an earlier item.
func drawList(t *rapid.T, f Field, length int) []any {
	list := []any{}
	keys := map[string]bool{}
	for i := range length {
		item := DrawValue(t, f.child(fmt.Sprintf("[%d]", i), f.Schema.Items.Schema))
		names := keysOf(f)
		values := make([]any, len(names))
		for i, name := range names {
			values[i] = item.(map[string]any)[name]
		}
		key := fmt.Sprint(values)
		if len(names) == 0 || !keys[key] {
			list = append(list, item)
		}
		keys[key] = true
	}
	return list
}

// keysOf returns the fields that, according to the schema or Kubernetes, distinguish a list's items.
func keysOf(f Field) []string {
	switch {
	case f.Schema.Items.Schema.Type != "object":
		return nil
	case f.Path[0] == "topologySpreadConstraints" && len(f.Path) == 1:
		return []string{"topologyKey", "whenUnsatisfiable"}
	case f.Path[len(f.Path)-1] == "sysctls":
		return []string{"name"}
	default:
		return f.Schema.XListMapKeys
	}
}

// drawObject draws an object with its required fields and some optional fields.
func drawObject(t *rapid.T, f Field) map[string]any {
	value := map[string]any{}
	if f.Schema.AdditionalProperties != nil {
		for range rapid.IntRange(0, 2).Draw(t, "size") {
			key := rapid.SampledFrom(mapKeysOf(f.Path)).Draw(t, "key")
			value[key] = DrawValue(t, f.child(key, f.Schema.AdditionalProperties.Schema))
		}
		return value
	}
	for _, name := range slices.Sorted(maps.Keys(f.Schema.Properties)) {
		property := f.Schema.Properties[name]
		required := slices.Contains(f.Schema.Required, name)
		if required || !rarely(name) && rapid.IntRange(0, 2).Draw(t, "with "+name) == 0 {
			value[name] = DrawValue(t, f.child(name, &property))
		}
	}
	return oneOf(t, f, value)
}
