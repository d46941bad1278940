package controllers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// converge makes the children of an Echo as wanted. Everything is read before anything is written, so that an Echo that cannot be
// applied changes nothing.
func (r *EchoReconciler) converge(ctx context.Context, echo *v1.Echo) (status.Observation, error) {
	seen := status.Observation{}
	config, err := r.config(ctx, echo)
	if err != nil {
		return seen, err
	}
	wanted, err := children.Of(echo, config)
	if err != nil {
		return seen, err
	}
	if err := r.observe(ctx, echo, &seen); err != nil {
		return seen, err
	}
	live, err := r.readAll(ctx, echo, wanted, &seen)
	if err != nil {
		return seen, err
	}
	if err := r.Policy.Check(echo, wanted...); err != nil || echo.Spec.Paused {
		return seen, err
	}
	if err := r.addFinalizer(ctx, echo); err != nil {
		return seen, err
	}
	for i, c := range wanted {
		if err := r.ensure(ctx, c, live[i], &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// ensure applies a child that is not as wanted, and deletes one that is no longer wanted.
func (r *EchoReconciler) ensure(ctx context.Context, c children.Child, live client.Object, seen *status.Observation) error {
	if c.Want == nil {
		return r.prune(ctx, live)
	}
	if live != nil {
		difference, err := r.Schema.Compare(c, live)
		switch {
		case err != nil:
			return err
		case difference.None:
			seen.Keep(c.Kind, live)
			return nil
		case difference.Replace:
			return r.prune(ctx, live) // it is created when an event reports that it is gone
		}
		if err := r.reclaim(ctx, c, difference.Renamed); err != nil {
			return err
		}
	}
	after, err := apply(ctx, r.Client, c, live)
	if err != nil {
		seen.Unsure = append(seen.Unsure, status.Attempt{Kind: c.Kind, Before: live, Err: err})
		return err
	}
	seen.See(after)
	seen.Changes = append(seen.Changes, status.Change{Before: live, After: after})
	return nil
}

// reclaim makes the list items of a child whose key somebody edited the operator's, so that they are replaced and not added to. The
// cache does not hold what others own.
func (r *EchoReconciler) reclaim(ctx context.Context, c children.Child, renamed *fieldpath.Set) error {
	if renamed.Empty() {
		return nil
	}
	current := c.Blank()
	if err := r.Live.Get(ctx, c.Key, current); err != nil {
		return fmt.Errorf("reading %s %s: %w", c.Kind, c.Key, err)
	}
	before := current.DeepCopyObject().(client.Object)
	if err := children.GiveToOperator(current, renamed, c.Want.GetAPIVersion()); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, current, patch, client.FieldOwner(children.FieldOwner)); err != nil {
		return fmt.Errorf("taking over fields of %s %s: %w", c.Kind, c.Key, err)
	}
	return nil
}

// prune deletes a child that exists and is no longer wanted. Nothing depends on a child that can be unwanted.
func (r *EchoReconciler) prune(ctx context.Context, live client.Object) error {
	if live == nil {
		return nil
	}
	return deleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground)
}

// apply writes a child by server-side apply and returns it as the API server answers. An existing child is identified by its UID, so
// that another object that took its place is not changed. A new child is not forced, so that the fields of another object stay.
func apply(ctx context.Context, writer client.Writer, c children.Child, live client.Object) (client.Object, error) {
	want := c.Want.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner(children.FieldOwner)}
	if live != nil {
		want.SetUID(live.GetUID())
		options = append(options, client.ForceOwnership)
	}
	if err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), options...); err != nil {
		return nil, fmt.Errorf("applying %s %s: %w", c.Kind, c.Key, err)
	}
	after := c.Blank()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(want.Object, after); err != nil {
		return nil, fmt.Errorf("reading the answer for %s %s: %w", c.Kind, c.Key, err)
	}
	return after, nil
}

// deleteChild deletes an object and its dependents, in the foreground the object last. It does nothing if the object is already being
// deleted.
func deleteChild(ctx context.Context, writer client.Writer, live client.Object, order metav1.DeletionPropagation) error {
	if !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := writer.Delete(ctx, live,
		client.PropagationPolicy(order),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %T %s: %w", live, client.ObjectKeyFromObject(live), err)
	}
	return nil
}

// addFinalizer makes sure that an Echo cannot vanish before what is created for it. It does nothing if the finalizer is there.
func (r *EchoReconciler) addFinalizer(ctx context.Context, echo *v1.Echo) error {
	before := echo.DeepCopy()
	if !controllerutil.AddFinalizer(echo, v1.Finalizer) {
		return nil
	}
	return r.patchMetadata(ctx, echo, before)
}

// patchMetadata writes the changed metadata of an Echo, unless the Echo has changed since it was read.
func (r *EchoReconciler) patchMetadata(ctx context.Context, echo, before *v1.Echo) error {
	if err := r.Client.Patch(ctx, echo, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	r.replaced.add(before, echo)
	return nil
}
