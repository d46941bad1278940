package apiserver

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"pgregory.net/rapid"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

type schemaProps = apiextensionsv1.JSONSchemaProps

// specSchema returns the schema of the spec of Echoes, as it ships.
func specSchema() (*schemaProps, error) {
	file := filepath.Join("..", "..", "..", "config", "crd", "bases", "example.com_echoes.yaml")
	crd, err := controlplane.Manifest(file, &apiextensionsv1.CustomResourceDefinition{})
	if err != nil {
		return nil, err
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &spec, nil
}

// field is a field of the spec.
type field struct {
	path   []string
	schema *schemaProps
}

// String returns the path of a field as the API server writes it.
func (f field) String() string {
	text := "spec"
	for _, part := range f.path {
		if !strings.HasPrefix(part, "[") {
			text += "."
		}
		text += part
	}
	return text
}

func (f field) child(name string, schema *schemaProps) field {
	return field{append(slices.Clone(f.path), name), schema}
}

// drawField draws a field of the spec, the deeper the rarer. Fields of list items are drawn with their list.
func drawField(t *rapid.T, spec *schemaProps) field {
	f := field{nil, spec}
	for len(f.schema.Properties) > 0 {
		if len(f.path) > 0 && rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
			break
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(f.schema.Properties))).Draw(t, "field")
		property := f.schema.Properties[name]
		f = f.child(name, &property)
	}
	return f
}

// drawValue draws a value of a field that is valid by the schema, and mostly valid for Kubernetes.
func drawValue(t *rapid.T, f field) any {
	switch {
	case len(f.schema.Enum) > 0:
		return strings.Trim(string(rapid.SampledFrom(f.schema.Enum).Draw(t, "enum").Raw), `"`)
	case f.schema.XIntOrString:
		return rapid.SampledFrom(quantities).Draw(t, "quantity")
	}
	switch f.schema.Type {
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "integer":
		return drawInteger(t, f)
	case "string":
		return drawString(t, f)
	case "array":
		return drawList(t, f, rapid.IntRange(0, 2).Draw(t, "length"))
	default:
		return drawObject(t, f)
	}
}

func drawInteger(t *rapid.T, f field) int64 {
	values := slices.Clone(integersOf(f.path[len(f.path)-1]))
	for _, limit := range []*float64{f.schema.Minimum, f.schema.Maximum} {
		if limit != nil && f.path[0] != "replicas" { // most numbers of replicas are more than the operator allows
			values = append(values, int64(*limit))
		}
	}
	return rapid.SampledFrom(values).Draw(t, "integer")
}

func drawString(t *rapid.T, f field) string {
	return rapid.SampledFrom(stringsOf(f.path)).Draw(t, "string")
}

// drawList draws a list of at most so many items. Items that have the same key as one before are left out.
func drawList(t *rapid.T, f field, length int) []any {
	list := []any{}
	keys := map[string]bool{}
	for i := range length {
		item := drawValue(t, f.child(fmt.Sprintf("[%d]", i), f.schema.Items.Schema))
		key := ""
		for _, name := range keysOf(f) {
			key += fmt.Sprint(item.(map[string]any)[name], "/")
		}
		if key == "" || !keys[key] {
			list = append(list, item)
		}
		keys[key] = true
	}
	return list
}

// keysOf returns the fields by which the items of a list differ: in the schema, or in Kubernetes.
func keysOf(f field) []string {
	switch {
	case f.schema.Items.Schema.Type != "object":
		return nil
	case f.path[0] == "topologySpreadConstraints" && len(f.path) == 1:
		return []string{"topologyKey", "whenUnsatisfiable"}
	case f.path[len(f.path)-1] == "sysctls":
		return []string{"name"}
	default:
		return f.schema.XListMapKeys
	}
}

// drawObject draws an object: the fields that it requires, and some of the others.
func drawObject(t *rapid.T, f field) map[string]any {
	value := map[string]any{}
	if f.schema.AdditionalProperties != nil {
		for range rapid.IntRange(0, 2).Draw(t, "size") {
			key := rapid.SampledFrom(mapKeysOf(f.path)).Draw(t, "key")
			value[key] = drawValue(t, f.child(key, f.schema.AdditionalProperties.Schema))
		}
		return value
	}
	for _, name := range slices.Sorted(maps.Keys(f.schema.Properties)) {
		property := f.schema.Properties[name]
		required := slices.Contains(f.schema.Required, name)
		if required || !rarely(name) && rapid.IntRange(0, 2).Draw(t, "with "+name) == 0 {
			value[name] = drawValue(t, f.child(name, &property))
		}
	}
	return oneOf(t, f, value)
}

// drawBoundary draws the least or the most that the schema accepts of a field. It skips a field without boundaries.
func drawBoundary(t *rapid.T, f field) any {
	s := f.schema
	var values []any
	for _, limit := range []*float64{s.Minimum, s.Maximum} {
		if limit != nil {
			values = append(values, int64(*limit))
		}
	}
	switch {
	case s.Type == "array" && s.MaxItems != nil:
		values = append(values, manyItems(f, int(*s.MaxItems)), []any{})
	case s.Type == "object" && s.MaxProperties != nil:
		many := map[string]any{}
		for i := range *s.MaxProperties {
			many[fmt.Sprintf("key-%d", i)] = "x"
		}
		values = append(values, many, map[string]any{})
	case s.Type == "string" && s.MaxLength != nil && s.Enum == nil:
		values = append(values, longest(f, int(*s.MaxLength)))
	}
	for _, value := range s.Enum {
		values = append(values, strings.Trim(string(value.Raw), `"`))
	}
	if len(values) == 0 {
		t.SkipNow()
	}
	return rapid.SampledFrom(values).Draw(t, "boundary")
}

// manyItems returns a list of so many items that differ.
func manyItems(f field, length int) []any {
	list := []any{}
	for i := range length {
		switch f.path[0] {
		case "args":
			list = append(list, fmt.Sprintf("--x%d", i))
		case "tolerations":
			list = append(list, map[string]any{"key": fmt.Sprintf("key-%d", i), "operator": "Exists"})
		case "topologySpreadConstraints":
			list = append(list, map[string]any{"maxSkew": int64(1), "topologyKey": fmt.Sprintf("key-%d", i), "whenUnsatisfiable": "ScheduleAnyway"})
		case "response":
			list = append(list, map[string]any{"name": fmt.Sprintf("x-%d", i), "value": "x"})
		default:
			list = append(list, map[string]any{"name": fmt.Sprintf("name-%d", i)})
		}
	}
	return list
}

// longest returns a string of a length that the pattern of a field accepts.
func longest(f field, length int) string {
	switch f.path[len(f.path)-1] {
	case "host":
		return strings.Repeat("a.", length/2) + "b"
	case "path":
		return "/" + strings.Repeat("x", length-1)
	case "appProtocol":
		return strings.Repeat("x", length-64) + "/" + strings.Repeat("x", 63)
	default:
		return strings.Repeat("x", length)
	}
}

// drawInvalid draws a value of a field that the schema refuses.
func drawInvalid(t *rapid.T, f field) any {
	s := f.schema
	var values []any
	if s.Minimum != nil {
		values = append(values, int64(*s.Minimum)-1)
	}
	if s.Maximum != nil {
		values = append(values, int64(*s.Maximum)+1)
	}
	if s.MaxItems != nil {
		values = append(values, manyItems(f, int(*s.MaxItems)+1))
	}
	if s.MaxLength != nil {
		values = append(values, longest(f, int(*s.MaxLength))+"xx")
	}
	if len(s.Enum) > 0 {
		values = append(values, "NotOneOfThem")
	}
	if s.MinLength != nil {
		values = append(values, "")
	}
	switch {
	case s.XIntOrString:
		values = append(values, "much")
	case s.Type == "string":
		values = append(values, int64(7))
	default:
		values = append(values, "text")
	}
	return rapid.SampledFrom(values).Draw(t, "invalid")
}
