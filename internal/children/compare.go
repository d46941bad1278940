package children

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Schema compares objects as server-side apply does. It knows by which keys the items of a list are merged, and which lists and maps
// are set as a whole.
type Schema struct{ types managedfields.TypeConverter }

// NewSchema returns the schema of the kinds of a scheme that are built into Kubernetes.
func NewSchema(scheme *runtime.Scheme) Schema {
	return Schema{applyconfigurations.NewTypeConverter(scheme)}
}

// wanted returns what the operator applies as a child.
func (s Schema) wanted(c Child) (*typed.TypedValue, error) {
	value, err := s.types.ObjectToTyped(c.Want)
	if err != nil {
		return nil, fmt.Errorf("reading what %s should be: %w", c.Kind, err)
	}
	return value, nil
}

// found returns a child as it exists. Others may have added an item to a list twice.
func (s Schema) found(c Child, live client.Object) (*typed.TypedValue, error) {
	content, err := contentOf(c, live)
	if err != nil {
		return nil, err
	}
	value, err := s.types.ObjectToTyped(content, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("reading what %s is: %w", c.Kind, err)
	}
	return value, nil
}

// Matches reports whether it would change nothing to apply a child to an object: each field has the wanted value, and the operator owns
// these fields and no others. Fields that others added do not count, unless they are in a list or a map that is set as a whole.
func (s Schema) Matches(c Child, live client.Object) (bool, error) {
	want, err := s.wanted(c)
	if err != nil {
		return false, err
	}
	fields, err := want.ToFieldSet()
	if err != nil {
		return false, fmt.Errorf("listing the fields of %s: %w", c.Kind, err)
	}
	owned, err := ownedFields(live)
	if err != nil || !owned.Equals(fields.Difference(identity())) {
		return false, err
	}
	if want, err = s.withoutEmptyLists(c, want); err != nil {
		return false, err
	}
	have, err := s.found(c, live)
	if err != nil {
		return false, err
	}
	difference, err := changes(have, want)
	return err == nil && difference.IsSame(), err
}

// MustReplace reports whether an object has to be created anew, because the operator no longer sets a field that the API server sets
// only when an object is created: the class of an Ingress.
func (s Schema) MustReplace(c Child, live client.Object) (bool, error) {
	if c.onlyCreated == nil {
		return false, nil
	}
	owned, err := ownedFields(live)
	if err != nil || !owned.Has(c.onlyCreated) {
		return false, err
	}
	want, err := s.wanted(c)
	if err != nil {
		return false, err
	}
	fields, err := want.ToFieldSet()
	return err == nil && !fields.Has(c.onlyCreated), err
}

// changes returns what it would change to apply one object to another.
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

// contentOf returns an object that was read into its Go type as JSON, without its status and without what the API server alone writes.
func contentOf(c Child, live client.Object) (*unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.Kind, err)
	}
	content := &unstructured.Unstructured{Object: object}
	content.SetGroupVersionKind(c.Want.GroupVersionKind()) // not set on objects that were read into their Go type
	content.SetManagedFields(nil)
	delete(content.Object, "status")
	return content, nil
}

// withoutEmptyLists returns what is wanted without the lists that should be empty: the API server does not store them, and those who
// add to them own them.
func (s Schema) withoutEmptyLists(c Child, want *typed.TypedValue) (*typed.TypedValue, error) {
	c.Want = c.Want.DeepCopy()
	if !dropEmptyLists(c.Want.Object) {
		return want, nil
	}
	return s.wanted(c)
}

// dropEmptyLists removes the empty lists from an object, and reports whether there were any.
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
