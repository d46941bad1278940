package children

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Matches reports whether every field that the operator sets in an object is as wanted. Fields that others added do not count. A
// field that the operator no longer sets shows as a different digest.
func (c Child) Matches(live client.Object) (bool, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	for key, want := range c.Want.Object {
		switch key {
		case "apiVersion", "kind": // not set on objects that were read into their Go type
		default:
			if !covers(content[key], want, key) {
				return false, nil
			}
		}
	}
	return true, nil
}

// covers reports whether have, a part of the JSON of an object, contains everything in want. field is the name of the part.
func covers(have, want any, field string) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && coversMap(have, want)
	case []any:
		have, ok := have.([]any)
		return ok && coversList(have, want, listKey(field))
	default:
		return reflect.DeepEqual(have, want)
	}
}

func coversMap(have, want map[string]any) bool {
	for key, value := range want {
		there, ok := have[key]
		if !ok && isEmptyMap(value) { // the API server drops empty maps
			continue
		}
		if !ok || !covers(there, value, key) {
			return false
		}
	}
	return true
}

func isEmptyMap(value any) bool {
	m, ok := value.(map[string]any)
	return ok && len(m) == 0
}

// coversList compares lists with a key item by item with the same key, because others may have added items, and all other lists by
// position.
func coversList(have, want []any, key string) bool {
	if key == "" || !allHave(want, key) {
		if len(have) != len(want) {
			return false
		}
		for i := range want {
			if !covers(have[i], want[i], "") {
				return false
			}
		}
		return true
	}
	for _, item := range want {
		if !covers(find(have, key, item.(map[string]any)[key]), item, "") {
			return false
		}
	}
	return true
}

// allHave reports whether every item of a list is a map with a key.
func allHave(list []any, key string) bool {
	for _, item := range list {
		if m, ok := item.(map[string]any); !ok || m[key] == nil {
			return false
		}
	}
	return true
}

func find(list []any, key string, value any) any {
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && reflect.DeepEqual(m[key], value) {
			return item
		}
	}
	return nil
}

// listKey returns the key by which server-side apply merges the items of a list, and an empty string for a list that is replaced as
// a whole. Ports merge by number and protocol; names do as well here, because the operator never changes the name of a port.
func listKey(field string) string {
	switch field {
	case "containers", "env", "ports", "imagePullSecrets":
		return "name"
	case "topologySpreadConstraints":
		return "topologyKey"
	case "ownerReferences":
		return "uid"
	default:
		return ""
	}
}
