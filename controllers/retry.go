package controllers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/internal/status"
)

// Tolerance is how long a transient failure is retried before the status reports it.
const Tolerance = 2 * time.Second

// failures holds, for each object, the time when its reconciles began to fail.
type failures struct{ memory[time.Time] }

// tolerate marks a failure as tolerated if it is transient and the object's reconciles have not been failing for long. For conflicts and
// missing objects, which indicate a lagging cache, the delay before the retry equals the time since the first failure.
func (f *failures) tolerate(object types.NamespacedName, failure *status.Failure, now time.Time) *status.Failure {
	if failure == nil || !failure.Transient {
		return failure
	}
	since := f.get(object)
	if since.IsZero() {
		since = now
		f.set(object, since)
	}
	lasts := now.Sub(since)
	failure.Tolerated = lasts < Tolerance
	if failure.Tolerated && (apierrors.IsConflict(failure.Err) || apierrors.IsNotFound(failure.Err)) {
		failure.RetryAfter = max(firstRetry, lasts) // the retry logs no error
	}
	return failure
}

// end ends an object's series of failures unless its last reconcile failed transiently. failure is from that reconcile, or nil.
func (f *failures) end(object types.NamespacedName, failure *status.Failure) {
	if failure == nil || !failure.Transient {
		f.forget(object)
	}
}

// resultOf converts the outcome of a reconcile to the values that Reconcile returns to the work queue. next is the time until a successful
// reconcile is repeated, or zero if only an event should start the next reconcile.
func resultOf(next time.Duration, failure *status.Failure) (ctrl.Result, error) {
	switch {
	case failure == nil:
		return ctrl.Result{RequeueAfter: next}, nil
	case failure.RetryAfter > 0:
		return ctrl.Result{RequeueAfter: failure.RetryAfter}, nil
	case failure.NoRetry && failure.Silent():
		return ctrl.Result{}, nil
	case failure.NoRetry:
		return ctrl.Result{}, reconcile.TerminalError(failure.Err)
	default:
		return ctrl.Result{}, failure.Err
	}
}
