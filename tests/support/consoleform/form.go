// Package consoleform implements the OpenShift console's rules for the bundle, for Echoes in forms, and for quick starts. Each function
// names its source. A source is a file below frontend/packages in github.com/openshift/console as of August 2026, or in a library that the
// console uses.
package consoleform

import "k8s.io/apimachinery/pkg/runtime"

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
