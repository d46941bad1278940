package controllers

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// childWriter brings children to their desired state.
type childWriter struct {
	client client.Client // writes to the API server
	live   client.Reader // reads from the API server
	// compare returns how a live object differs from the desired child.
	compare func(objects.Child, client.Object) (apply.Difference, error)
	// allows, if set, reports whether a child may be changed now. field is the first field that differs.
	allows func(field string) bool
	// wrote, if set, is called after each successful apply or patch. after is the object that the API server returned.
	wrote func(before, after client.Object)
}

// ensure applies a child that differs from its desired state, and deletes a child that is not desired. live is nil if the child does not
// exist. ensure returns the child as it now exists: the live object if nothing differed, and nil if there is no child.
func (w *childWriter) ensure(ctx context.Context, c objects.Child, live client.Object) (client.Object, error) {
	if c.Desired == nil {
		if live == nil {
			return nil, nil //nolint:nilnil // there is no child, and none is desired
		}
		// Background deletion is sufficient, because only a Deployment has dependents that matter, and a Deployment is always desired.
		return nil, deleteChild(ctx, w.client, live, metav1.DeletePropagationBackground)
	}
	if live != nil {
		recreated := c
		if c.MergeLive != nil {
			c.Desired = c.MergeLive(c.Desired, live)
		}
		difference, err := w.compare(c, live)
		switch {
		case err != nil:
			return nil, err
		case difference.None || w.allows != nil && !w.allows(difference.Field):
			return live, nil
		case difference.Replace:
			return nil, w.replace(ctx, recreated, live)
		}
		if err := w.reclaim(ctx, c, difference.Renamed); err != nil {
			return nil, err
		}
	}
	after, err := applyChild(ctx, w.client, c, live)
	if err != nil {
		return nil, err
	}
	if w.wrote != nil {
		w.wrote(live, after)
	}
	return after, nil
}

// reclaim makes the operator own the list items whose keys another client edited, so that an apply replaces these items instead of adding
// new ones. It reads the object from the API server, because cached objects do not record which fields other clients own.
func (w *childWriter) reclaim(ctx context.Context, c objects.Child, renamed *fieldpath.Set) error {
	if renamed == nil || renamed.Empty() {
		return nil
	}
	current := c.NewObject()
	if err := w.live.Get(ctx, c.Key, current); err != nil {
		return &objects.RequestError{Action: "read", Kind: c.Kind, Key: c.Key, Err: err}
	}
	before := current.DeepCopyObject().(client.Object)
	if err := apply.GiveToOperator(current, renamed, c.Desired.GetAPIVersion()); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := w.client.Patch(ctx, current, patch, client.FieldOwner(objects.FieldOwner)); err != nil {
		return &objects.RequestError{Action: "taken over", Kind: c.Kind, Key: c.Key, Err: err}
	}
	if w.wrote != nil {
		w.wrote(before, current)
	}
	return nil
}

// replace deletes a child that must be recreated, unless the API server would reject the new child, or a webhook does not respond. The
// deletion event starts the reconcile that creates the new child.
func (w *childWriter) replace(ctx context.Context, c objects.Child, live client.Object) error {
	if c.Recreate != nil && live.GetDeletionTimestamp().IsZero() { // other children are replaced only to remove another client's list items
		// Admission precedes the response that the object already exists.
		err := w.client.Create(ctx, c.Desired.DeepCopy(), client.DryRunAll, client.FieldOwner(objects.FieldOwner))
		forbidden := apierrors.IsForbidden(err) && !status.IsQuotaExceeded(err) // the old child counts against the quota
		if apierrors.IsInvalid(err) || forbidden || status.IsDenied(err) || apierrors.IsInternalError(err) {
			return &objects.RequestError{Action: "replaced", Kind: c.Kind, Key: c.Key, Err: err}
		}
	}
	return deleteChild(ctx, w.client, live, metav1.DeletePropagationBackground)
}

// noVersion is a resource version that no object has, because etcd's first revision is empty. If the object exists, an apply with this
// version fails with a conflict.
const noVersion = "1"

// applyChild writes a child using server-side apply, and returns the stored child. The UID of an existing child prevents changes to a newer
// object with the same name. If live is nil, the API server creates the child, or responds with a conflict if the name is taken.
func applyChild(ctx context.Context, writer client.Writer, c objects.Child, live client.Object) (client.Object, error) {
	options := []client.PatchOption{client.FieldOwner(objects.FieldOwner)}
	uid, version := types.UID(""), noVersion
	if live != nil {
		uid, version = live.GetUID(), ""
		options = append(options, client.ForceOwnership)
	}
	body, err := c.Body(uid, version)
	if err != nil {
		return nil, err
	}
	after := c.NewObject()
	after.SetNamespace(c.Key.Namespace)
	after.SetName(c.Key.Name)
	if err := writer.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, body), options...); err != nil {
		return nil, &objects.RequestError{Action: "applied", Kind: c.Kind, Key: c.Key, Err: err}
	}
	return after, nil
}

// deleteChild deletes an object and its dependents. Foreground deletion removes the object after its dependents. deleteChild does nothing
// if the object is already being deleted. It fails if the object exists only in a stale cache.
func deleteChild(ctx context.Context, writer client.Writer, live client.Object, order metav1.DeletionPropagation) error {
	if !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := writer.Delete(ctx, live,
		client.PropagationPolicy(order),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		// Only unstructured objects hold their kind. The Go types of the others have the name of their kind.
		kind := cmp.Or(live.GetObjectKind().GroupVersionKind().Kind, reflect.TypeOf(live).Elem().Name())
		return &objects.RequestError{Action: "deleted", Kind: kind, Key: client.ObjectKeyFromObject(live), Err: err}
	}
	return nil
}

// deleteCompanion deletes a companion, but not another pod with the same name. It does nothing if the companion is already being deleted.
func deleteCompanion(ctx context.Context, writer client.Writer, pod *objects.Pod) error {
	if pod.Deleted {
		return nil
	}
	err := writer.Delete(ctx, pod.Object(), client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the companion %s: %w", pod.Name, err)
	}
	return nil
}
