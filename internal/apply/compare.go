// Package apply compares live objects with desired objects, following the rules of server-side apply.
package apply

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// Difference describes how a live child differs from the desired one.
type Difference struct {
	// None is true if an apply would change nothing. Each field then has the desired value, and the operator owns exactly these fields. Fields
	// that other clients added are ignored, unless they are in a list or a map that is set as a whole.
	None bool
	// Field is the path of the first field that differs.
	Field string
	// Replace is true if the object must be recreated, because an update would not have the same effect. Examples are changes to the class of
	// an Ingress or a load balancer, and to the IP families of a Service.
	Replace bool
	// Renamed contains the list items whose key, such as a port number, another client edited. The content of the operator's item is then
	// under a different key. An apply would add the operator's item again, and the API server may reject the duplicate. Renamed also includes
	// items that have the name of another desired item.
	Renamed *fieldpath.Set
}

// Compare returns the differences between a live object and a child. The operator's managed fields on the live object say which fields it
// applied last, which items of lists have keys, and which lists and maps are set as a whole.
func Compare(c objects.Child, live client.Object) (Difference, error) {
	owned, err := ownedFields(live)
	if err != nil {
		return Difference{}, err
	}
	shallow := reflect.New(reflect.TypeOf(live).Elem())
	shallow.Elem().Set(reflect.ValueOf(live).Elem())
	unmanaged := shallow.Interface().(client.Object)
	unmanaged.SetManagedFields(nil) // their conversion would take most of the time
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(unmanaged)
	if err != nil {
		return Difference{}, fmt.Errorf("reading %s: %w", c.Kind, err)
	}
	// No client owns the fields that identify the object (see apimachinery/pkg/util/managedfields).
	desired := maps.Clone(c.Desired.Object)
	delete(desired, "apiVersion")
	delete(desired, "kind")
	metadata, _ := desired["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "name")
	delete(metadata, "namespace")
	desired["metadata"] = metadata
	path, same := compare(nil, owned, desired, content)
	if same {
		return Difference{None: true, Renamed: fieldpath.NewSet()}, nil
	}
	renamed := fieldpath.NewSet()
	addRenamed(renamed, nil, owned, desired, content)
	return Difference{Field: strings.TrimPrefix(path.String(), "."), Renamed: renamed,
		Replace: c.Recreate != nil && c.Recreate(c.Desired.Object, content, owned)}, nil
}

// compare reports whether the owned fields at a path are exactly the desired fields, and whether each of them has the desired value in the
// live object. Otherwise, it returns the path of a field that differs.
func compare(path fieldpath.Path, owned *fieldpath.Set, desired, live any) (differs fieldpath.Path, same bool) {
	same, reached := true, 0
	visit := func(element fieldpath.PathElement) {
		if !same {
			return
		}
		reached++
		want, wanted := at(desired, element)
		have, copies := at(live, element)
		differs = slices.Concat(path, fieldpath.Path{element})
		fields, isParent := owned.Children.Get(element)
		switch {
		case wanted != 1 || copies > 1: // the field is no longer desired, or another client added an item with the same key
			same = false
		case isParent:
			differs, same = compare(differs, fields, want, have)
		default:
			same = isSame(want, have)
		}
	}
	owned.Members.Iterate(visit)
	owned.Children.Iterate(func(element fieldpath.PathElement) {
		if !owned.Members.Has(element) {
			visit(element)
		}
	})
	if wants, isList := desired.([]any); same && isList && *cmp.Or(path[len(path)-1].FieldName, new("")) == "env" {
		// The order matters, because a variable can refer only to those before it.
		items, _ := live.([]any)
		name := func(item any) any { return item.(map[string]any)["name"] }
		position := func(want any) int {
			return slices.IndexFunc(items, func(item any) bool { return name(item) == name(want) })
		}
		differs, same = path, slices.IsSortedFunc(wants, func(a, b any) int { return position(a) - position(b) })
	}
	if !same || reached == size(desired) {
		return differs, same
	}
	fields, _ := desired.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		element := fieldpath.PathElement{FieldName: &name}
		if _, isParent := owned.Children.Get(element); !isParent && !owned.Members.Has(element) {
			return slices.Concat(path, fieldpath.Path{element}), false
		}
	}
	return path, false
}

// at returns the part of a JSON value that a path element selects, and how many parts it selects.
func at(parent any, element fieldpath.PathElement) (part any, count int) {
	fields, _ := parent.(map[string]any)
	if element.FieldName != nil {
		part, found := fields[*element.FieldName]
		if !found {
			return nil, 0
		}
		return part, 1
	}
	items, _ := parent.([]any)
	for _, item := range items {
		if element.Key != nil && hasKey(item, *element.Key) || element.Value != nil && value.Equals(value.NewValueInterface(item), *element.Value) {
			part = item
			count++
		}
	}
	return part, count
}

// hasKey reports whether a list item has the given key.
func hasKey(item any, key value.FieldList) bool {
	fields, _ := item.(map[string]any)
	return !slices.ContainsFunc(key, func(field value.Field) bool {
		return !value.Equals(value.NewValueInterface(fields[field.Name]), field.Value)
	})
}

// size returns the number of fields in a map, or of items in a list.
func size(parent any) int {
	switch parent := parent.(type) {
	case map[string]any:
		return len(parent)
	case []any:
		return len(parent)
	default:
		return 0
	}
}

// isSame reports whether a value that is set as a whole has the desired value. The API server does not store empty lists, and clients may
// add fields to an empty map.
func isSame(desired, live any) bool {
	if size(desired) == 0 {
		switch desired.(type) {
		case []any:
			return size(live) == 0
		case map[string]any:
			_, isMap := live.(map[string]any)
			return isMap
		}
	}
	return value.Equals(value.NewValueInterface(desired), value.NewValueInterface(live))
}

// addRenamed adds the list items at a path whose key another client edited. It omits items that the operator owns, because an apply removes
// them if they are no longer desired.
func addRenamed(renamed *fieldpath.Set, path fieldpath.Path, owned *fieldpath.Set, desired, live any) {
	switch desired := desired.(type) {
	case map[string]any:
		fields, _ := live.(map[string]any)
		for name, want := range desired {
			addRenamed(renamed, append(path.Copy(), fieldpath.PathElement{FieldName: &name}), owned, want, fields[name])
		}
	case []any:
		items, _ := live.([]any)
		for _, want := range desired {
			keys := keysOf(path, want)
			if keys == nil {
				return // a list that is set as a whole
			}
			element := elementOf(keys, want)
			current, _ := at(live, element)
			for _, item := range items {
				other := elementOf(keys, item)
				path := append(path.Copy(), other)
				if _, isDesired := at(desired, other); isDesired == 0 && !owned.Has(path) && isRenamed(path, keys, want, item, current) {
					renamed.Insert(path)
				}
			}
			addRenamed(renamed, append(path.Copy(), element), owned, want, current)
		}
	}
}

// keysOf returns the names of the fields that identify an item of the list at a path, or nil if the list is set as a whole. It knows the
// lists that a builder fills. A test compares it with the schema of the API server.
func keysOf(list fieldpath.Path, item any) []string {
	fields, _ := item.(map[string]any)
	name := list[len(list)-1].FieldName
	if name == nil || fields == nil {
		return nil
	}
	switch *name {
	case "containers", "env", "imagePullSecrets", "volumes":
		return []string{"name"}
	case "ownerReferences":
		return []string{"uid"}
	case "ports":
		if _, inContainer := fields["containerPort"]; inContainer {
			return []string{"containerPort", "protocol"}
		}
		return []string{"port", "protocol"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	case "volumeMounts":
		return []string{"mountPath"}
	default:
		return nil
	}
}

// elementOf returns the path element that selects a list item.
func elementOf(keys []string, item any) fieldpath.PathElement {
	fields, _ := item.(map[string]any)
	key := value.FieldList{}
	for _, name := range keys {
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(fields[name])})
	}
	key.Sort()
	return fieldpath.PathElement{Key: &key}
}

// isRenamed reports whether a live list item is the desired item with a different key. An item with the desired name counts as renamed
// unless the item with the desired key, which is nil if there is none, also has this name. Any other item counts as renamed if it has the
// desired content and no item has the desired key.
func isRenamed(path fieldpath.Path, keys []string, desired, live, current any) bool {
	want, _ := desired.(map[string]any)
	have, _ := live.(map[string]any)
	now, exists := current.(map[string]any)
	want = maps.Clone(want)
	for _, key := range keys {
		want[key] = have[key]
	}
	name, named := want["name"].(string)
	if named = named && keys[0] != "name" && have["name"] == name; named || exists {
		return named && now["name"] != name
	}
	return includes(path, want, have)
}

// includes reports whether the live value at a path includes the desired value.
func includes(path fieldpath.Path, desired, live any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		fields, isMap := live.(map[string]any)
		for name, want := range desired {
			have, exists := fields[name]
			isMap = isMap && exists && includes(append(path.Copy(), fieldpath.PathElement{FieldName: &name}), want, have)
		}
		return isMap
	case []any:
		for _, want := range desired {
			keys := keysOf(path, want)
			if keys == nil {
				return isSame(desired, live)
			}
			element := elementOf(keys, want)
			if have, count := at(live, element); count != 1 || !includes(append(path.Copy(), element), want, have) {
				return false
			}
		}
		return true
	default:
		return isSame(desired, live)
	}
}
