package controllers

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// ChildWriter brings children to their desired state.
type ChildWriter struct {
	// Client writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Compare returns how a live object differs from the desired child.
	Compare func(objects.Child, client.Object) (apply.Difference, error)
	// Allows, if set, reports whether a child may be changed now. field is the first field that differs.
	Allows func(field string) bool
	// Wrote, if set, is called after each successful apply or patch. after is the object that the API server returned.
	Wrote func(child client.ObjectKey, before, after client.Object)
}

// Ensure applies a child that differs from its desired state, and deletes a child that is not desired. live is nil if the child does not
// exist. Ensure returns the child as it now exists: the live object if nothing differed, and nil if there is no child.
func (w *ChildWriter) Ensure(ctx context.Context, c objects.Child, live client.Object) (client.Object, error) {
	if c.Desired == nil {
		return nil, w.remove(ctx, live)
	}
	if live != nil {
		c = c.WithLive(live)
		difference, err := w.Compare(c, live)
		switch {
		case err != nil:
			return nil, err
		case difference.None || w.Allows != nil && !w.Allows(difference.Field):
			return live, nil
		case difference.Replace:
			return nil, w.replace(ctx, c, live)
		}
		if err := w.reclaim(ctx, c, difference.Renamed); err != nil {
			return nil, err
		}
	}
	after, err := Apply(ctx, w.Client, c, live)
	if err != nil {
		return nil, err
	}
	w.wrote(c.Key, live, after)
	return after, nil
}

// reclaim makes the operator own the list items whose keys another client edited, so that an apply replaces these items instead of adding
// new ones. It reads the object from the API server, because cached objects do not record which fields other clients own.
func (w *ChildWriter) reclaim(ctx context.Context, c objects.Child, renamed *fieldpath.Set) error {
	if renamed == nil || renamed.Empty() {
		return nil
	}
	current := c.NewObject()
	if err := w.Live.Get(ctx, c.Key, current); err != nil {
		return &objects.RequestError{Action: objects.Reading, Kind: c.Kind, Key: c.Key, Err: err}
	}
	before := current.DeepCopyObject().(client.Object)
	if err := apply.GiveToOperator(current, renamed, c.Desired.GetAPIVersion()); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := w.Client.Patch(ctx, current, patch, client.FieldOwner(objects.FieldOwner)); err != nil {
		return &objects.RequestError{Action: objects.TakingOver, Kind: c.Kind, Key: c.Key, Err: err}
	}
	w.wrote(c.Key, before, current)
	return nil
}

// replace deletes a child that must be recreated, unless the API server would reject the new child. The deletion event starts the reconcile
// that creates the new child.
func (w *ChildWriter) replace(ctx context.Context, c objects.Child, live client.Object) error {
	if c.Recreate != nil && live.GetDeletionTimestamp().IsZero() { // other children are replaced only to remove another client's list items
		err := w.try(ctx, c, live)
		forbidden := apierrors.IsForbidden(err) && !status.IsQuotaExceeded(err) // the old child counts against the quota
		if apierrors.IsInvalid(err) || forbidden || status.IsDenied(err) {
			return &objects.RequestError{Action: objects.Replacing, Kind: c.Kind, Key: c.Key, Err: err}
		}
	}
	return w.remove(ctx, live)
}

// try sends a dry run that shows whether the API server would accept a new child.
func (w *ChildWriter) try(ctx context.Context, c objects.Child, live client.Object) error {
	if dryRun := c.DryRunCopy(); dryRun != nil {
		return w.Client.Create(ctx, dryRun, client.DryRunAll, client.FieldOwner(objects.FieldOwner))
	}
	_, err := Apply(ctx, client.NewDryRunClient(w.Client), c, live)
	return err
}

// remove deletes a child if it exists. Background deletion is sufficient, because only a Deployment has dependents that matter, and a
// Deployment is always desired.
func (w *ChildWriter) remove(ctx context.Context, live client.Object) error {
	if live == nil {
		return nil
	}
	return DeleteChild(ctx, w.Client, live, metav1.DeletePropagationBackground)
}

func (w *ChildWriter) wrote(child client.ObjectKey, before, after client.Object) {
	if w.Wrote != nil {
		w.Wrote(child, before, after)
	}
}

// DeletionPeriod is how long the operator waits for deletion events before it first checks whether the objects are gone.
const DeletionPeriod = 2 * time.Second

// noVersion is a resource version that no object has, because etcd's first revision is empty. If the object exists, an apply with this
// version fails with a conflict.
const noVersion = "1"

// Apply writes a child using server-side apply, and returns the stored child. The UID of an existing child keeps the apply from changing a
// newer object with the same name. If live is nil, the API server creates the child, or responds with a conflict if an object with this
// name exists.
func Apply(ctx context.Context, writer client.Writer, c objects.Child, live client.Object) (client.Object, error) {
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
		return nil, &objects.RequestError{Action: objects.Applying, Kind: c.Kind, Key: c.Key, Err: err}
	}
	return after, nil
}

// DeleteChild deletes an object and its dependents. Foreground deletion removes the object after its dependents. DeleteChild does nothing
// if the object is already being deleted. It fails if the object exists only in a stale cache.
func DeleteChild(ctx context.Context, writer client.Writer, live client.Object, order metav1.DeletionPropagation) error {
	if !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := writer.Delete(ctx, live,
		client.PropagationPolicy(order),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		return &objects.RequestError{Action: objects.Deleting, Kind: kindOf(live), Key: client.ObjectKeyFromObject(live), Err: err}
	}
	return nil
}

// kindOf returns the kind of an object: the name of its Go type, unless the object is unstructured.
func kindOf(object client.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(object).Elem().Name()
}

// DeleteCompanion deletes a companion, but does not delete a different pod with the same name. It does nothing if the companion is already
// being deleted.
func DeleteCompanion(ctx context.Context, writer client.Writer, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	err := writer.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the companion %s: %w", pod.Name, err)
	}
	return nil
}
