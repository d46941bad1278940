package controllers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// observation is what a pass saw and did. It means something even when the pass failed: what is nil is not known, or not
// there.
type observation struct {
	deployment *appsv1.Deployment
	pods       []corev1.Pod
	companions []corev1.Pod
	nodes      map[string]nodeState // those that pods run on
	changes    []change
}

// change is one object that a pass made or corrected.
type change struct{ before, after client.Object }

// converge makes the children of an Echo as they should be. Everything is read before anything is written, so that an Echo
// that cannot be carried out leaves all as it was.
func (r *EchoReconciler) converge(ctx context.Context, echo *v1.Echo) (observation, error) {
	seen := observation{}
	wanted, err := children(echo, r.Images)
	if err != nil {
		return seen, err
	}
	if seen.pods, err = podsOf(ctx, r.Client, echo); err != nil {
		return seen, err
	}
	if seen.companions, err = companionsOf(ctx, r.Client, echo); err != nil {
		return seen, err
	}
	if seen.nodes, err = r.nodesOf(ctx, echo, seen.pods); err != nil {
		return seen, err
	}
	live := make([]client.Object, len(wanted))
	for i, c := range wanted {
		if live[i], err = r.read(ctx, echo, c); err != nil {
			return seen, err
		}
		seen.note(live[i])
	}
	if err := allowed(echo, r.MaxReplicas); err != nil || echo.Spec.Paused {
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

// note keeps what the status is made from.
func (o *observation) note(object client.Object) {
	if d, ok := object.(*appsv1.Deployment); ok {
		o.deployment = d
	}
}

// allowed refuses what the schema lets through and the operator's policy does not.
func allowed(echo *v1.Echo, maxReplicas int32) error {
	if echo.Spec.Replicas > maxReplicas {
		return &specError{fmt.Sprintf(
			"spec.replicas is %d, which is greater than %d, the most that this operator allows. Ask for fewer, or have its MAX_REPLICAS raised.",
			echo.Spec.Replicas, maxReplicas)}
	}
	return nil
}

// read returns a child as it stands, nil if there is none, and a nameConflictError if its name is somebody else's. The
// cache holds only what carries the operator's labels and may lag, so an absence in it is checked on the API server: an
// object must never be taken over because it was not seen.
func (r *EchoReconciler) read(ctx context.Context, echo *v1.Echo, c child) (client.Object, error) {
	live, err := fetch(ctx, r.Client, c)
	if err != nil || live != nil && metav1.IsControlledBy(live, echo) {
		return live, err
	}
	if c.want == nil { // nothing will be made, so nothing can be taken over
		return nil, nil //nolint:nilnil // that there is no such object is an answer
	}
	live, err = fetch(ctx, r.Live, c)
	if err != nil || live == nil || metav1.IsControlledBy(live, echo) {
		return live, err
	}
	return nil, &nameConflictError{kind: c.kind, name: live.GetName()}
}

// fetch returns the object that has a child's name, nil if there is none.
func fetch(ctx context.Context, reader client.Reader, c child) (client.Object, error) {
	live := c.blank()
	err := reader.Get(ctx, c.key, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // that there is no such object is an answer
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", c.kind, c.key, err)
	default:
		return live, nil
	}
}

// ensure applies a child if it differs from what is wanted, and deletes one that is no longer wanted.
func (r *EchoReconciler) ensure(ctx context.Context, c child, live client.Object, seen *observation) error {
	if c.want == nil {
		return r.prune(ctx, live)
	}
	if live != nil {
		if differs, err := differs(c, live); err != nil || !differs {
			return err
		}
	}
	after, err := apply(ctx, r.Client, c, live)
	if err != nil {
		return err
	}
	seen.note(after)
	seen.changes = append(seen.changes, change{before: live, after: after})
	return nil
}

// prune deletes a child that is there and no longer wanted. Nothing depends on any that can be unwanted.
func (r *EchoReconciler) prune(ctx context.Context, live client.Object) error {
	if live == nil {
		return nil
	}
	return r.deleteChild(ctx, live, metav1.DeletePropagationBackground)
}

// apply writes a child and returns it as the API server answers it. One that exists is named by its UID, so that another
// that took its place meanwhile is refused; one that should not exist is not forced, so that another's fields stand.
func apply(ctx context.Context, writer client.Writer, c child, live client.Object) (client.Object, error) {
	want := c.want.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner(fieldOwner)}
	if live != nil {
		want.SetUID(live.GetUID())
		options = append(options, client.ForceOwnership)
	}
	if err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), options...); err != nil {
		return nil, fmt.Errorf("applying %s %s: %w", c.kind, c.key, err)
	}
	after := c.blank()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(want.Object, after); err != nil {
		return nil, fmt.Errorf("reading the answer for %s %s: %w", c.kind, c.key, err)
	}
	return after, nil
}

// addFinalizer makes sure that an Echo cannot vanish before what is made for it. It is a no-op on one that has it.
func (r *EchoReconciler) addFinalizer(ctx context.Context, echo *v1.Echo) error {
	before := echo.DeepCopy()
	if !controllerutil.AddFinalizer(echo, v1.Finalizer) {
		return nil
	}
	return r.patchMetadata(ctx, echo, before)
}

// patchMetadata writes what changed of an Echo's metadata, unless the Echo changed meanwhile.
func (r *EchoReconciler) patchMetadata(ctx context.Context, echo, before *v1.Echo) error {
	if err := r.Client.Patch(ctx, echo, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	return nil
}
