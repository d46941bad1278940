// Package consoleform tells what the form of the OpenShift console posts. The rules are those of github.com/openshift/console:
// packages/operator-lifecycle-manager/src/components/operand and packages/console-shared/src/components/dynamic-form, with the library
// react-jsonschema-form.
package consoleform

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Posted returns what the form posts if it holds some data: defaults of the schema are added, also to the items of lists, and then what is
// empty is removed, unless it is as empty in the sample with which the form began. The data stays as it is.
func Posted(schema, data, sample map[string]any) map[string]any {
	filled, ok := fill(schema, runtime.DeepCopyJSON(data)).(map[string]any)
	if !ok {
		return nil
	}
	prune(filled, sample)
	return filled
}

// fill adds defaults to a value. An object gets all its objects, so that the form can show their fields.
func fill(schema map[string]any, value any) any {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			fillProperty(property.(map[string]any), name, value)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range value {
			value[i] = fill(items, value[i])
		}
	}
	return value
}

func fillProperty(schema map[string]any, name string, object map[string]any) {
	value, set := object[name]
	fallback, hasDefault := schema["default"]
	_, hasProperties := schema["properties"]
	switch {
	case set:
	case hasDefault:
		value, set = runtime.DeepCopyJSONValue(fallback), true
	case hasProperties:
		value, set = map[string]any{}, true
	}
	if set {
		object[name] = fill(schema, value)
	}
}

// prune removes what is empty from an object, and what is empty then.
func prune(object, sample map[string]any) {
	for name, value := range object {
		example, inSample := sample[name]
		switch value := value.(type) {
		case map[string]any:
			inside, _ := example.(map[string]any)
			prune(value, inside)
		case []any:
			for _, item := range value {
				if inside, ok := item.(map[string]any); ok {
					prune(inside, nil)
				}
			}
		}
		if isEmpty(value) && (!inSample || !reflect.DeepEqual(value, example)) {
			delete(object, name)
		}
	}
}

// isEmpty reports whether a value is nothing, an empty text, an empty object or an empty list. False and 0 are not empty.
func isEmpty(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid: // null
		return true
	case reflect.String, reflect.Map, reflect.Slice:
		return v.Len() == 0
	default:
		return false
	}
}
