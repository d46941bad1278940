package controllers

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// differs tells whether something that the operator decides of an object is not as it should be. What others added to the
// object does not count. A field that the operator no longer wants shows in the digest it applied last.
func differs(c child, live client.Object) (bool, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, err
	}
	for key, want := range c.want.Object {
		switch key {
		case "apiVersion", "kind": // not set on objects read into their Go type
		default:
			if !covers(content[key], want, key) {
				return true, nil
			}
		}
	}
	return false, nil
}

// covers tells whether have, a piece of an object's JSON, says everything that want says. field is the name under which
// the piece stands.
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
		if !ok && isEmptyMap(value) { // the API server drops what is empty
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

// coversList compares lists that are keyed, in which others may have their own items, by key, and all others item by item.
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

// allHave tells whether every item of a list is a map with a key.
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

// listKey is the key by which the items of a list merge under server-side apply, and empty for a list that is replaced
// whole. Ports merge by number and protocol; the operator names all of its own and never changes a name, so the name does.
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
