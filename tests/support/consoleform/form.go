// Package consoleform implements the OpenShift console's rules for the bundle, for Echoes in forms, and for quick starts. Each function
// names its source. A source is a file below frontend/packages in github.com/openshift/console as of August 2026, or in a library that the
// console uses.
package consoleform

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Posted returns the data that the form posts if the user submits the given data. The form adds the schema's defaults, and then removes all
// empty values. Posted does not modify the given data.
//
// operator-lifecycle-manager/src/components/operand/operand-form.tsx: processFormData
func Posted(schema, data, sample map[string]any) map[string]any {
	filled, _ := fill(schema, runtime.DeepCopyJSON(data)).(map[string]any)
	posted, _ := prune(filled, sample).(map[string]any)
	return posted
}

// prune returns a value after removing its empty parts. If the form's initial sample has an empty value, a number, or a boolean in the same
// place, prune keeps the empty part.
//
// console-shared/src/components/dynamic-form/utils.ts: prune
func prune(value, sample any) any {
	switch value := value.(type) {
	case map[string]any:
		left := map[string]any{}
		samples, _ := sample.(map[string]any)
		for name, inside := range value {
			if inside = prune(inside, samples[name]); !isEmpty(inside) || isSpared(samples[name]) {
				left[name] = inside
			}
		}
		return left
	case []any:
		left := []any{}
		samples, _ := sample.([]any)
		for i, item := range value {
			samples = append(samples, nil)
			if item = prune(item, samples[i]); !isEmpty(item) || isSpared(samples[i]) {
				left = append(left, item)
			}
		}
		return left
	default:
		return value
	}
}

// isEmpty reports whether a value is null, an empty string, an empty object, or an empty list. The values false and 0 are not empty.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// isSpared implements definedAndEmpty from prune's source. It also returns true for numbers and booleans, because lodash considers them
// empty.
func isSpared(sample any) bool {
	switch sample.(type) {
	case nil:
		return false
	case string, map[string]any, []any:
		return isEmpty(sample)
	default:
		return true
	}
}

// fill adds defaults to a value. If the value is an object, fill also adds all nested objects, so that the form can show their fields.
//
// github.com/rjsf-team/react-jsonschema-form, packages/core/src/utils.js: computeDefaults, mergeDefaultsWithFormData
func fill(schema map[string]any, value any) any {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property := property.(map[string]any)
			if _, set := value[name]; !set {
				value[name] = begun(property)
			}
			value[name] = fill(property, value[name])
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range value {
			value[i] = fill(items, value[i])
		}
	}
	return value
}

// begun returns the initial value of an unset field.
func begun(schema map[string]any) any {
	least, _ := schema["minItems"].(float64)
	switch {
	case schema["default"] != nil:
		return runtime.DeepCopyJSONValue(schema["default"])
	case schema["properties"] != nil:
		return map[string]any{}
	case least > 0:
		items := make([]any, int(least))
		for i := range items {
			items[i] = begun(schema["items"].(map[string]any))
		}
		return items
	default:
		return nil
	}
}

const tectonic = "urn:alm:descriptor:com.tectonic.ui:"

// Descriptor describes how the console shows a field.
type Descriptor struct {
	Path, DisplayName, Description string
	XDescriptors                   []string `json:"x-descriptors"`
}

// Bundle contains what the console reads from the operator's bundle.
type Bundle struct {
	SpecDescriptors, StatusDescriptors []Descriptor
	// Spec and Status are the schemas of an Echo's parts, and Schema is the schema that the form uses, which has no status.
	Spec, Status, Schema map[string]any
	// Sample is the first example, with which the form starts.
	Sample map[string]any
}

// Read reads the bundle in a directory.
func Read(folder string) (Bundle, error) {
	var csv struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct{ CustomResourceDefinitions struct{ Owned []Bundle } }
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "manifests", "echo-operator.clusterserviceversion.yaml"))
	more, another := os.ReadFile(filepath.Join(folder, "manifests", "example.com_echoes.yaml"))
	if err := errors.Join(err, another, yaml.Unmarshal(text, &csv), yaml.Unmarshal(more, &crd)); err != nil {
		return Bundle{}, err
	}
	b := csv.Spec.CustomResourceDefinitions.Owned[0]
	b.Schema = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	b.Spec, b.Status = At(b.Schema, "spec"), At(b.Schema, "status")
	delete(b.Schema["properties"].(map[string]any), "status")
	var examples []map[string]any
	err = json.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &examples)
	b.Sample = examples[0]
	return b, err
}

// At returns the schema of the field at a path such as imagePullSecrets[0].name, or nil if there is no such field.
func At(schema map[string]any, path string) map[string]any {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[0]")
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
		if isItem {
			schema, _ = schema["items"].(map[string]any)
		}
	}
	return schema
}

// Fields returns the paths of the spec fields that the form shows: groups, values, and the items in lists of values.
//
// operator-lifecycle-manager/src/components/operand/utils.ts: descriptorsToUISchema
func Fields(spec map[string]any, descriptors []Descriptor) []string {
	widgets := map[string][]string{}
	for _, d := range descriptors {
		widgets[d.Path] = d.XDescriptors
	}
	return shown(spec, "", widgets)[1:]
}

// shown returns the path of a field and the paths of the fields inside the field. If the field is hidden or contains nothing that the form
// can show, shown returns no paths. The form cannot show maps, or unions such as IntOrString.
//
// console-shared/src/components/dynamic-form/utils.ts: hasNoFields; fields.tsx: CustomSchemaField
func shown(schema map[string]any, path string, widgets map[string][]string) []string {
	own := widgets[path]
	if slices.Contains(own, tectonic+"hidden") || schema["anyOf"] != nil || schema["oneOf"] != nil || schema["allOf"] != nil {
		return nil
	}
	var inside []string
	properties, _ := schema["properties"].(map[string]any)
	items, _ := schema["items"].(map[string]any)
	switch {
	case slices.Contains(own, tectonic+"resourceRequirements"): // this widget displays the whole group
		return []string{path}
	case items != nil:
		inside = shown(items, path+"[0]", widgets)
		if items["type"] == "object" && len(inside) > 0 {
			inside = inside[1:] // list items have no title
		}
	case schema["type"] != "object":
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inside = append(inside, shown(properties[name].(map[string]any), strings.TrimPrefix(path+"."+name, "."), widgets)...)
	}
	if len(inside) == 0 {
		return nil
	}
	return append([]string{path}, inside...)
}

// OnPage reports whether an object's page shows a descriptor's field. The page ignores lists that are nested in other lists.
//
// operator-lifecycle-manager/src/components/descriptors/utils.ts: groupDescriptorDetails; const.ts: REGEXP_NESTED_ARRAY_PATH
func OnPage(d Descriptor) bool {
	nested := regexp.MustCompile(`^.*\[\d+\]\.?.*\[\d+\]\.?.*$`)
	return !nested.MatchString(d.Path) && !slices.Contains(d.XDescriptors, tectonic+"hidden")
}
