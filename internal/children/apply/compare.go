package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/echo-operator/echo-operator/internal/children"
)

// desired returns the desired child as a typed value.
func (s Schema) desired(c children.Child) (*typed.TypedValue, error) {
	value, err := s.of(c).ObjectToTyped(c.Desired)
	if err != nil {
		return nil, fmt.Errorf("reading the desired %s: %w", c.Kind, err)
	}
	return value, nil
}

// found returns the live child as a typed value. It allows duplicate list items, because another client may have added them.
func (s Schema) found(c children.Child, live client.Object) (*typed.TypedValue, error) {
	content, err := contentOf(c, live)
	if err != nil {
		return nil, err
	}
	value, err := s.of(c).ObjectToTyped(content, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("reading the live %s: %w", c.Kind, err)
	}
	return value, nil
}

// Difference describes how a live child differs from the desired one.
type Difference struct {
	// None is true if an apply would change nothing. Each field then has the desired value, and the operator owns exactly these fields. Fields
	// that other clients added are ignored, unless they are in a list or a map that is set as a whole.
	None bool
	// Replace is true if the object must be recreated, because an update would not have the same effect. Examples are changes to the class of
	// an Ingress or a load balancer, and to the IP families of a Service.
	Replace bool
	// Renamed contains the fields of list items whose key, such as a port number, another client edited. The content of the operator's item is
	// then under a different key. An apply would add the operator's item again, and the API server may reject the duplicate. Renamed also
	// includes items that have the name of another desired item.
	Renamed *fieldpath.Set
}

// Compare returns the differences between a live object and a child.
func (s Schema) Compare(c children.Child, live client.Object) (Difference, error) {
	want, err := s.desired(c)
	if err != nil {
		return Difference{}, err
	}
	have, err := s.found(c, live)
	if err != nil {
		return Difference{}, err
	}
	fields, err := fieldsIn(c, want, have)
	if err != nil {
		return Difference{}, err
	}
	if fields.owned, err = ownedFields(live); err != nil {
		return Difference{}, err
	}
	if fields.owned.Equals(fields.desired.Difference(identity())) {
		if same, err := s.hasValues(c, want, have); err != nil || same {
			return Difference{None: same, Renamed: fieldpath.NewSet()}, err
		}
	}
	content, _ := have.AsValue().Unstructured().(map[string]any)
	replace := c.Recreate != nil && c.Recreate(c.Desired.Object, content, fields.owned)
	return Difference{Replace: replace, Renamed: s.renamed(c, have, fields)}, nil
}

// fieldSets holds the sets of fields that Compare needs.
type fieldSets struct{ desired, there, owned *fieldpath.Set }

func fieldsIn(c children.Child, want, have *typed.TypedValue) (fieldSets, error) {
	desired, err := want.ToFieldSet()
	if err != nil {
		return fieldSets{}, fmt.Errorf("listing the desired fields of %s: %w", c.Kind, err)
	}
	there, err := have.ToFieldSet()
	if err != nil {
		return fieldSets{}, fmt.Errorf("listing the fields of %s: %w", c.Kind, err)
	}
	return fieldSets{desired: desired, there: there}, nil
}

// hasValues reports whether each field that the operator sets has the desired value.
func (s Schema) hasValues(c children.Child, want, have *typed.TypedValue) (bool, error) {
	want, err := s.withoutEmptyLists(c, want)
	if err != nil {
		return false, err
	}
	difference, err := changes(have, want)
	return err == nil && difference.IsSame(), err
}

// changes returns the changes that would result from applying one object to another.
func changes(have, want *typed.TypedValue) (*typed.Comparison, error) {
	merged, err := have.Merge(want)
	if err != nil {
		return nil, fmt.Errorf("merging: %w", err)
	}
	difference, err := have.Compare(merged)
	if err != nil {
		return nil, fmt.Errorf("comparing: %w", err)
	}
	return difference, nil
}

// contentOf converts an object from its Go type to JSON content, without the status and the managed fields.
func contentOf(c children.Child, live client.Object) (*unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.Kind, err)
	}
	content := &unstructured.Unstructured{Object: object}
	content.SetGroupVersionKind(c.Desired.GroupVersionKind()) // objects that were read into a Go type do not contain their kind
	content.SetManagedFields(nil)
	delete(content.Object, "status")
	return content, nil
}

// withoutEmptyLists returns the desired object without its empty lists. The API server does not store empty lists, and clients that add
// items own the lists.
func (s Schema) withoutEmptyLists(c children.Child, want *typed.TypedValue) (*typed.TypedValue, error) {
	c.Desired = c.Desired.DeepCopy()
	if !dropEmptyLists(c.Desired.Object) {
		return want, nil
	}
	return s.desired(c)
}

// dropEmptyLists removes the empty lists from an object, and reports whether it removed any.
func dropEmptyLists(object map[string]any) bool {
	dropped := false
	for key, value := range object {
		switch value := value.(type) {
		case map[string]any:
			dropped = dropEmptyLists(value) || dropped
		case []any:
			if len(value) == 0 {
				delete(object, key)
				dropped = true
			}
		}
	}
	return dropped
}

// renamed returns the fields of list items whose key another client edited. It omits fields that the operator owns, because an apply
// removes them if they are no longer desired.
func (s Schema) renamed(c children.Child, have *typed.TypedValue, fields fieldSets) *fieldpath.Set {
	renamed := fieldpath.NewSet()
	others := items(fields.there.Difference(fields.desired).Difference(fields.owned))
	for _, desired := range items(fields.desired) {
		for _, other := range others {
			if s.isRenamed(c, have, desired, other) {
				renamed = renamed.Union(within(fields.there, other))
			}
		}
	}
	return renamed
}

// isRenamed reports whether a list item is a desired item with a different key. An item with the desired name counts as renamed unless the
// item with the desired key also has this name. Any other item counts as renamed if it has the desired content and no item has the desired
// key.
func (s Schema) isRenamed(c children.Child, have *typed.TypedValue, desired, other fieldpath.Path) bool {
	last := len(other) - 1
	if !desired[:len(desired)-1].Equals(other[:last]) {
		return false
	}
	c.Desired = c.Desired.DeepCopy()
	live := have.AsValue().Unstructured()
	item, theirs := itemAt(c.Desired.Object, desired), itemAt(live, other)
	if item == nil || theirs == nil {
		return false
	}
	_, named := item["name"].(string)
	for _, field := range *other[last].Key {
		named = named && field.Name != "name"
		item[field.Name] = field.Value.Unstructured()
	}
	named = named && item["name"] == theirs["name"]
	if now := itemAt(live, desired); named || now != nil {
		return named && now["name"] != item["name"]
	}
	want, err := s.desired(c)
	if err != nil {
		return false
	}
	difference, err := changes(have, want)
	return err == nil && within(difference.Added.Union(difference.Modified).Union(difference.Removed), other).Empty()
}

// items returns the paths in a set that lead to list items with keys.
func items(fields *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	fields.Iterate(func(path fieldpath.Path) {
		if path[len(path)-1].Key != nil {
			paths = append(paths, path.Copy())
		}
	})
	return paths
}

// within returns the fields in a set that are at or below a path.
func within(fields *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	inside := fieldpath.NewSet()
	fields.Iterate(func(field fieldpath.Path) {
		if len(field) >= len(path) && field[:len(path)].Equals(path) {
			inside.Insert(field.Copy())
		}
	})
	return inside
}

// itemAt returns the map at a path in the JSON content of an object, or nil if there is none.
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

// itemWith returns the list item with the given key, or nil if there is none.
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
