package children

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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

// IsOwn reports whether an entry of the managed fields of an object says what the operator applied.
func IsOwn(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// ownedFields returns the fields of an object that the operator applied and nobody else has changed since.
func ownedFields(live client.Object) (*fieldpath.Set, error) {
	for _, entry := range live.GetManagedFields() {
		if IsOwn(entry) {
			return fieldsOf(entry)
		}
	}
	return fieldpath.NewSet(), nil
}

// fieldsOf returns the fields of an entry of managed fields.
func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("reading the fields of manager %q: %w", entry.Manager, err)
	}
	return fields, nil
}

// identity returns the fields that say which object is meant, and which nobody owns: apimachinery/pkg/util/managedfields.
func identity() *fieldpath.Set {
	return fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"),
		fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata", "name"),
		fieldpath.MakePathOrDie("metadata", "namespace"))
}
