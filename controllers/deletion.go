package controllers

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/status"
)

// longestDeletionPeriod is the longest wait before the operator checks again whether a deleted Echo's pods are gone. The wait starts at
// controllers.DeletionPeriod and grows, because the deletion of thousands of Echoes takes many minutes.
const longestDeletionPeriod = 30 * time.Second

// orphanedAfter is how long an Echo waits for pods of a Deployment that was deleted with --cascade=orphan. If the pods are not orphaned,
// the garbage collector starts to delete them within this time.
const orphanedAfter = time.Minute

// reconcileDelete deletes the objects created for an Echo, and releases the Echo when its last pod is gone.
func (r *EchoReconciler) reconcileDelete(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return 0, nil
	}
	if slices.Contains(echo.Finalizers, metav1.FinalizerOrphanDependents) {
		return 0, r.classify(echo, r.release(ctx, echo, true))
	}
	seen := status.Observation{}
	left, err := r.leftoversOf(ctx, echo)
	if err == nil {
		seen = left.observation()
		err = r.deleteRemaining(ctx, left)
	}
	failure := r.classify(echo, err)
	var unwritten error
	if failure != nil || left.any() { // otherwise, the Echo is about to be removed
		unwritten = r.publish(ctx, echo, status.EvaluateDeletion(echo, seen, failure, r.Now()))
	}
	switch { // a failed status write must not block the deletion of an Echo
	case failure != nil:
		return 0, failure
	case left.any():
		return nextDeletionCheck(r.Now().Sub(echo.DeletionTimestamp.Time)), r.classify(echo, unwritten)
	default:
		return 0, r.classify(echo, r.release(ctx, echo, left.orphaned))
	}
}

// nextDeletionCheck returns the delay before the next reconcile, based on how long an Echo's deletion has taken.
func nextDeletionCheck(elapsed time.Duration) time.Duration {
	const share = 4 // the delay is a quarter of the elapsed time
	return min(max(elapsed/share, DeletionPeriod), longestDeletionPeriod)
}

// observation converts the leftovers to the observation that the status reports.
func (l leftovers) observation() status.Observation {
	seen := status.Observation{Pods: l.pods, Companions: l.companions}
	for _, object := range l.objects {
		seen.Record(object)
	}
	if len(l.pods)+len(l.companions) == 0 {
		seen.Held = l.held
	}
	seen.NoDeployment = seen.Deployment == nil && !l.orphaned
	return seen
}

// release removes only the operator's finalizer from an Echo. keptPods is true if the Echo's pods may still be running.
func (r *EchoReconciler) release(ctx context.Context, echo *v1.Echo, keptPods bool) error {
	others := slices.DeleteFunc(slices.Clone(echo.Finalizers), func(finalizer string) bool { return finalizer == v1.Finalizer })
	if err := r.echoWriter().SetFinalizers(ctx, echo, others); err != nil {
		return err
	}
	r.expectations.Forget(client.ObjectKeyFromObject(echo))
	log.FromContext(ctx).Info("Released the Echo", "keptPods", keptPods)
	return nil
}

// deleteRemaining deletes an Echo's leftovers. The Echo's pods are deleted with their Deployment.
func (r *EchoReconciler) deleteRemaining(ctx context.Context, left leftovers) error {
	for _, object := range left.objects {
		err := DeleteChild(ctx, r.Client, object, metav1.DeletePropagationForeground)
		if client.IgnoreNotFound(err) != nil { // if the object was not found, the next reconcile checks again whether it exists
			return err
		}
	}
	for i := range left.companions {
		if err := DeleteCompanion(ctx, r.Client, &left.companions[i]); err != nil {
			return err
		}
	}
	return nil
}
