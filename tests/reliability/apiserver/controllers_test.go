package apiserver

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
)

// otherControllers does the work of the Deployment controller and the garbage collector, which do not run. If there was work to do, it
// returns an unrest error.
func (s *server) otherControllers(ctx context.Context, now *state) error {
	if err := s.collect(ctx, now); err != nil {
		return err
	}
	if s.pods {
		if err := s.podsOf(ctx, now); err != nil {
			return err
		}
	}
	d := now.children["Deployment"]
	if d == nil || d.GetDeletionTimestamp() != nil {
		return nil
	}
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(d.Object, deployment); err != nil {
		return err
	}
	status := deployment.Status
	if status.ObservedGeneration == deployment.Generation && len(status.Conditions) > 0 {
		return nil
	}
	if err := support.RollOut(ctx, s.client, deployment); client.IgnoreNotFound(err) != nil {
		return err
	}
	return unrest{"the Deployment is rolled out"}
}

// collect does the garbage collector's work: it completes deletions, and deletes objects whose owner is gone.
func (s *server) collect(ctx context.Context, now *state) error {
	if d := now.children["Deployment"]; len(now.pods) > 0 && d != nil && d.GetDeletionTimestamp() != nil {
		return s.podsOf(ctx, now) // the pods are removed before the Deployment
	}
	for _, o := range slices.Backward(now.all()) { // the Echo is last
		switch {
		case o.GetDeletionTimestamp() == nil:
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents):
			if err := s.orphan(ctx, now, o); err != nil {
				return err
			}
			return unrest{"the dependents of a " + o.GetKind() + " are orphaned"}
		case slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents):
			if o.GetKind() == "Echo" && len(now.children) > 0 {
				return s.deleteDependents(ctx, now)
			}
			if err := s.removeFinalizer(ctx, o, metav1.FinalizerDeleteDependents); err != nil {
				return err
			}
			return unrest{"the deletion of a " + o.GetKind() + " is completed"}
		}
	}
	for _, child := range now.children {
		if now.echo != nil {
			s.met.Store(child.GetUID(), true)
		}
	}
	if now.echo == nil {
		return s.expectNoDependents(ctx, now)
	}
	return nil
}

// orphan removes the owner references to an object that is deleted without its dependents.
func (s *server) orphan(ctx context.Context, now *state, owner *object) error {
	for _, child := range now.children {
		if metav1.IsControlledBy(child, owner) {
			before := child.DeepCopy()
			child.SetOwnerReferences(nil)
			if err := s.client.Patch(ctx, child, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return s.removeFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
}

func (s *server) deleteDependents(ctx context.Context, now *state) error {
	for _, child := range now.children {
		if metav1.IsControlledBy(child, now.echo) && child.GetDeletionTimestamp() == nil {
			if err := s.client.Delete(ctx, child, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return unrest{"the dependents of the Echo are deleted"}
}

// expectNoDependents returns a violation if an Echo was removed before the objects that were created for it. An operator with an outdated
// cache may create objects after the Echo is removed. The garbage collector deletes those objects.
func (s *server) expectNoDependents(ctx context.Context, now *state) error {
	for kind, child := range now.children {
		if metav1.GetControllerOfNoCopy(child) == nil {
			continue
		}
		if _, met := s.met.Load(child.GetUID()); met {
			return violation{"the Echo was removed before its " + kind, ""}
		}
		if err := s.client.Delete(ctx, child, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return err
		}
		return unrest{"a " + kind + " without an owner is deleted"}
	}
	if len(now.pods) > 0 {
		return violation{"the Echo was removed before its pods", ""}
	}
	return nil
}

func (s *server) removeFinalizer(ctx context.Context, o *object, finalizer string) error {
	before := o.DeepCopy()
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == finalizer }))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := s.client.Patch(ctx, o, patch); client.IgnoreNotFound(err) != nil {
		return unrest{"an object was changed in the meantime"}
	}
	return nil
}

// violation is a promise that the operator broke. Violations of the same type have the same name.
type violation struct{ name, details string }

func (v violation) Error() string { return v.name }
