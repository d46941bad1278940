package children

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Renamed returns the fields of the list items of a live object whose key somebody edited, such as the number of a port: the item that
// the operator set is missing, and another has its content. To apply the child would add the missing item beside the other, which the
// API server may reject. The set is empty if there are none.
func (s Schema) Renamed(c Child, live client.Object) (*fieldpath.Set, error) {
	renamed := fieldpath.NewSet()
	want, err := s.wanted(c)
	if err != nil {
		return nil, err
	}
	have, err := s.found(c, live)
	if err != nil {
		return nil, err
	}
	wanted, err := want.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("listing the fields of %s: %w", c.Kind, err)
	}
	there, err := have.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("listing the fields of %s: %w", c.Kind, err)
	}
	owned, err := ownedFields(live) // what is no longer wanted; apply removes it
	if err != nil {
		return nil, err
	}
	others := items(there.Difference(wanted).Difference(owned))
	for _, missing := range items(wanted.Difference(there)) {
		for _, other := range others {
			if s.isRenamed(c, have, missing, other) {
				renamed = renamed.Union(within(there, other))
			}
		}
	}
	return renamed, nil
}

// isRenamed reports whether an item of a list is a missing one with another key: they have the same name, or all that is wanted of the
// missing one.
func (s Schema) isRenamed(c Child, have *typed.TypedValue, missing, other fieldpath.Path) bool {
	last := len(other) - 1
	if !missing[:len(missing)-1].Equals(other[:last]) {
		return false
	}
	c.Want = c.Want.DeepCopy()
	item, theirs := itemAt(c.Want.Object, missing), itemAt(have.AsValue().Unstructured(), other)
	if item == nil || theirs == nil {
		return false
	}
	_, named := item["name"].(string)
	for _, field := range *other[last].Key {
		named = named && field.Name != "name"
		item[field.Name] = field.Value.Unstructured()
	}
	if named && item["name"] == theirs["name"] {
		return true
	}
	want, err := s.wanted(c)
	if err != nil {
		return false
	}
	difference, err := changes(have, want)
	return err == nil && within(difference.Added.Union(difference.Modified).Union(difference.Removed), other).Empty()
}

// items returns the paths of a set that lead to items of lists that are merged by keys.
func items(fields *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fields.Iterate(func(path fieldpath.Path) {
		if path[len(path)-1].Key != nil {
			paths = append(paths, path.Copy())
		}
	})
	return paths
}

// within returns the fields of a set that are at a path or below it.
func within(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	inside := fieldpath.NewSet()
	fields.Iterate(func(field fieldpath.Path) {
		if len(field) >= len(path) && field[:len(path)].Equals(path) {
			inside.Insert(field.Copy())
		}
	})
	return inside
}

// itemAt returns the map at a path in the JSON of an object, nil if there is none.
func itemAt(object any, path fieldpath.Path) map[string]any {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			fields, _ := object.(map[string]any)
			object = fields[*element.FieldName]
		case element.Key != nil:
			list, _ := object.([]any)
			object = itemWith(list, *element.Key)
		default:
			return nil
		}
	}
	item, _ := object.(map[string]any)
	return item
}

// itemWith returns the item of a list that has a key.
func itemWith(list []any, key value.FieldList) any {
	for _, item := range list {
		fields, _ := item.(map[string]any)
		found := fields != nil
		for _, field := range key {
			found = found && value.Equals(value.NewValueInterface(fields[field.Name]), field.Value)
		}
		if found {
			return item
		}
	}
	return nil
}
