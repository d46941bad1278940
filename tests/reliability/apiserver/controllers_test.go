package apiserver

import (
	"context"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
)

// otherControllers does the work of the garbage collector and the Deployment controller, which do not run. If there was work to do, it
// returns an unrest error.
func (s *server) otherControllers(ctx context.Context, now *state) error {
	for _, child := range now.children {
		switch {
		case child.GetDeletionTimestamp() != nil && slices.Contains(child.GetFinalizers(), metav1.FinalizerDeleteDependents):
			done := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := s.client.Patch(ctx, child, done); client.IgnoreNotFound(err) != nil {
				return err
			}
			return unrest{"the deletion of a " + child.GetKind() + " is completed"}
		case now.echo == nil && metav1.GetControllerOfNoCopy(child) != nil:
			return errors.New("the Echo was removed before its objects: " + child.GetKind())
		case child.GetKind() == "Deployment" && child.GetDeletionTimestamp() == nil:
			if err := s.rollOut(ctx, child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) rollOut(ctx context.Context, child *object) error {
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(child.Object, deployment); err != nil {
		return err
	}
	if deployment.Status.ObservedGeneration == deployment.Generation && len(deployment.Status.Conditions) > 0 {
		return nil
	}
	if err := support.RollOut(ctx, s.client, deployment); client.IgnoreNotFound(err) != nil {
		return err
	}
	return unrest{"the Deployment is rolled out"}
}
