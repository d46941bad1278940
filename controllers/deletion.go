package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// deletionPeriod is how often the operator looks whether a deleted Echo's pods are gone, should no event tell it.
const deletionPeriod = 2 * time.Second

// finalize removes what was made for an Echo and lets the Echo go when the last of its pods is gone.
func (r *EchoReconciler) finalize(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if slices.Contains(echo.Finalizers, metav1.FinalizerOrphanDependents) {
		return classify(r.release(ctx, echo, orphaned())).result()
	}
	left, end, err := r.deleteChildren(ctx, echo)
	if err != nil {
		return classify(err).result()
	}
	status := terminatingStatus(echo, r.Now())
	err = r.publish(ctx, echo, status, transitions(&echo.Status, &status, observation{}))
	if left == 0 {
		return classify(r.release(ctx, echo, end)).result() // a status that cannot be written must not keep an Echo alive
	}
	if err != nil {
		return classify(err).result()
	}
	return ctrl.Result{RequeueAfter: deletionPeriod}, nil
}

// release takes the operator's finalizer off an Echo, and no other, and tells how it ended.
func (r *EchoReconciler) release(ctx context.Context, echo *v1.Echo, end transition) error {
	before := echo.DeepCopy()
	controllerutil.RemoveFinalizer(echo, v1.Finalizer)
	if err := r.patchMetadata(ctx, echo, before); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell(ctx, echo, []transition{end})
	return nil
}

// deleteChildren deletes what was made for an Echo and returns how much of it is still there, and how the Echo ends when that is
// nothing.
func (r *EchoReconciler) deleteChildren(ctx context.Context, echo *v1.Echo) (int, transition, error) {
	left, end, err := r.deleteApplied(ctx, echo)
	if err != nil {
		return 0, end, err
	}
	companions, err := r.deleteCompanions(ctx, echo)
	if left += companions; err != nil || left > 0 || end == orphaned() {
		return left, end, err
	}
	// Somebody else may have deleted the Deployment in the background, which does not wait for its pods.
	pods, err := podsOf(ctx, r.Live, echo)
	return len(pods), end, err
}

// deleteApplied deletes the objects that an Echo is made of. A Deployment that is not the Echo's any more was orphaned, and keeps
// its pods.
func (r *EchoReconciler) deleteApplied(ctx context.Context, echo *v1.Echo) (int, transition, error) {
	end := deleted()
	made, err := children(echo, r.Images)
	if err != nil {
		return 0, end, err
	}
	left := 0
	for _, c := range made {
		live, err := r.read(ctx, echo, c)
		if failed := classify(err); failed != nil && failed.reason != v1.ReasonNameConflict {
			return 0, end, err
		}
		if err != nil && c.kind == "Deployment" {
			end = orphaned()
		}
		if live == nil {
			continue
		}
		left++
		if err := r.deleteChild(ctx, live, metav1.DeletePropagationForeground); err != nil {
			return 0, end, err
		}
	}
	return left, end, nil
}

// deleteCompanions deletes the companions of an Echo and returns how many are still there. The cache may not know yet of one that
// was made a moment ago.
func (r *EchoReconciler) deleteCompanions(ctx context.Context, echo *v1.Echo) (int, error) {
	for _, reader := range []client.Reader{r.Client, r.Live} {
		companions, err := companionsOf(ctx, reader, echo)
		if err != nil {
			return 0, err
		}
		for i := range companions {
			if err := deleteCompanion(ctx, r.Client, &companions[i]); err != nil {
				return 0, err
			}
		}
		if len(companions) > 0 {
			return len(companions), nil
		}
	}
	return 0, nil
}

// deleteChild deletes an object and what depends on it, in the foreground the object last. It is a no-op on one that is being
// deleted.
func (r *EchoReconciler) deleteChild(ctx context.Context, live client.Object, order metav1.DeletionPropagation) error {
	if !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := r.Client.Delete(ctx, live,
		client.PropagationPolicy(order),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %T %s: %w", live, client.ObjectKeyFromObject(live), err)
	}
	return nil
}
