package echo

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
)

// longestDeletionPeriod bounds how long the operator waits before it checks again whether the pods of a deleted Echo are gone, in case no event
// reports it. It begins with controllers.DeletionPeriod: where thousands are deleted, that takes many minutes.
const longestDeletionPeriod = 30 * time.Second

// orphanedAfter is how long an Echo waits for pods that nobody deletes: its Deployment was deleted with --cascade=orphan. The garbage
// collector takes less to begin with those that it deletes.
const orphanedAfter = time.Minute

// finalize deletes what was created for an Echo, and releases the Echo when the last of its pods is gone.
func (r *Reconciler) finalize(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	if !controllerutil.ContainsFinalizer(echo, v1.Finalizer) {
		return 0, nil
	}
	if slices.Contains(echo.Finalizers, metav1.FinalizerOrphanDependents) {
		return 0, r.classify(echo, r.release(ctx, echo, status.Orphaned()))
	}
	seen := status.Observation{}
	left, err := r.remaining(ctx, echo)
	if err == nil {
		seen = left.observation()
		err = r.deleteRemaining(ctx, left)
	}
	failure := r.classify(echo, err)
	var unwritten error
	if failure != nil || left.any() { // at the end there is nothing to tell: the Echo is gone then
		unwritten = r.publish(ctx, echo, status.EvaluateDeletion(echo, seen, failure, r.Now()))
	}
	switch { // a status that cannot be written must not keep an Echo
	case failure != nil:
		return 0, failure
	case left.any():
		return nextDeletionCheck(r.Now().Sub(echo.DeletionTimestamp.Time)), r.classify(echo, unwritten)
	case left.orphaned:
		return 0, r.classify(echo, r.release(ctx, echo, status.Orphaned()))
	default:
		return 0, r.classify(echo, r.release(ctx, echo, status.Deleted()))
	}
}

// nextDeletionCheck returns how long to wait before an Echo is looked at again that has been in deletion for a time.
func nextDeletionCheck(elapsed time.Duration) time.Duration {
	const share = 4 // of that time
	return min(max(elapsed/share, controllers.DeletionPeriod), longestDeletionPeriod)
}

// observation returns what the status tells of what is left.
func (r remains) observation() status.Observation {
	seen := status.Observation{Pods: r.pods, Companions: r.companions}
	for _, object := range r.objects {
		seen.See(object)
	}
	seen.NoDeployment = seen.Deployment == nil && !r.orphaned
	return seen
}

// release removes the operator's finalizer from an Echo, and no other, and reports the end of the Echo.
func (r *Reconciler) release(ctx context.Context, echo *v1.Echo, end status.Transition) error {
	others := slices.DeleteFunc(slices.Clone(echo.Finalizers), func(finalizer string) bool { return finalizer == v1.Finalizer })
	if err := r.patchFinalizers(ctx, echo, others); err != nil {
		r.unreported.releasing(echo, end, err)
		return err
	}
	r.unreported.Forget(client.ObjectKeyFromObject(echo))
	r.Announce(ctx, echo, end)
	return nil
}

// deleteRemaining deletes what is left of an Echo. Its pods are deleted with their Deployment.
func (r *Reconciler) deleteRemaining(ctx context.Context, left remains) error {
	for _, object := range left.objects {
		if err := controllers.DeleteChild(ctx, r.Client, object, metav1.DeletePropagationForeground); client.IgnoreNotFound(err) != nil { // it is looked at again
			return err
		}
	}
	for i := range left.companions {
		if err := controllers.DeleteCompanion(ctx, r.Client, &left.companions[i]); err != nil {
			return err
		}
	}
	return nil
}
