package apply

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// OwnsExtraMetadata reports whether the operator owns a label or an annotation of a live object that is not desired. An apply removes it.
func OwnsExtraMetadata(live, desired client.Object) (bool, error) {
	owned, err := ownedFields(live)
	if err != nil {
		return false, err
	}
	metadata := owned.WithPrefix(fieldpath.MakePathOrDie("metadata")[0])
	for field, entries := range map[string]map[string]string{"labels": desired.GetLabels(), "annotations": desired.GetAnnotations()} {
		wanted := fieldpath.NewSet()
		for key := range entries {
			wanted.Insert(fieldpath.MakePathOrDie(key))
		}
		if !metadata.WithPrefix(fieldpath.MakePathOrDie(field)[0]).Difference(wanted).Empty() {
			return true, nil
		}
	}
	return false, nil
}

// GiveToOperator changes the managed fields of a live object so that the operator is the only owner of the given list items. The operator's
// next apply then removes the given items that it does not set. The object must have been read from the API server, because cached objects
// lack the fields of other clients.
func GiveToOperator(live client.Object, items *fieldpath.Set, apiVersion string) error {
	entries := live.GetManagedFields()
	if !slices.ContainsFunc(entries, objects.IsOwnEntry) {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: objects.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, APIVersion: apiVersion, FieldsType: "FieldsV1"})
	}
	owned := make([]*fieldpath.Set, len(entries))
	inside := fieldpath.NewSet() // the fields of all clients in the given items
	for i, entry := range entries {
		var err error
		if owned[i], err = fieldsOf(entry); err != nil {
			return err
		}
		owned[i].Iterate(func(field fieldpath.Path) {
			for end := range field {
				if items.Has(field[:end+1]) {
					inside.Insert(field.Copy())
				}
			}
		})
	}
	given := items.Union(inside)
	var changed []metav1.ManagedFieldsEntry
	for i, entry := range entries {
		fields := owned[i].Difference(given)
		if objects.IsOwnEntry(entry) {
			fields = owned[i].Union(given)
		}
		text, err := fields.ToJSON()
		if err != nil {
			return fmt.Errorf("writing the fields of manager %q: %w", entry.Manager, err)
		}
		entry.FieldsV1 = metav1.NewFieldsV1(string(text))
		if !fields.Empty() {
			changed = append(changed, entry)
		}
	}
	live.SetManagedFields(changed)
	return nil
}

// ownedFields returns the fields that the operator applied to an object and that no other client has changed since.
func ownedFields(live client.Object) (*fieldpath.Set, error) {
	for _, entry := range live.GetManagedFields() {
		if objects.IsOwnEntry(entry) {
			return fieldsOf(entry)
		}
	}
	return fieldpath.NewSet(), nil
}

// fieldsOf returns the fields that a managed fields entry lists.
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
