package controllers

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/internal/status"
)

// Memory holds values for objects, to avoid unnecessary requests, reconciles, or events. It may be lost at any time, for example when the
// operator restarts. No decision depends on a Memory, as the tests in tests/reliability show. Its methods may be called concurrently.
type Memory[T any] struct {
	lock sync.Mutex
	of   map[types.NamespacedName]T
}

// Get returns the value held for an object, and whether there is one.
func (m *Memory[T]) Get(object types.NamespacedName) (T, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	value, found := m.of[object]
	return value, found
}

func (m *Memory[T]) Set(object types.NamespacedName, value T) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[object] = value
}

func (m *Memory[T]) Forget(object types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.of, object)
}

// Clear drops all values.
func (m *Memory[T]) Clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.of = nil
}

// LastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type LastReports struct{ Memory[string] }

// Replace records the last report about an object, and returns whether the report is new.
func (l *LastReports) Replace(object types.NamespacedName, said string) bool {
	last, _ := l.Get(object)
	if said == "" {
		l.Forget(object)
	} else {
		l.Set(object, said)
	}
	return last != said
}

// Tolerance is how long a transient failure is retried before the status reports it.
const Tolerance = 2 * time.Second

// Failures holds, for each object, the time when its reconciles began to fail.
type Failures struct{ Memory[time.Time] }

// Tolerate marks a failure as tolerated if it is transient and the object's reconciles have not been failing for long. For conflicts and
// missing objects, which indicate a lagging cache, the delay before the retry equals the time since the first failure.
func (f *Failures) Tolerate(object types.NamespacedName, failure *status.Failure, now time.Time) *status.Failure {
	if failure == nil || !failure.Transient {
		return failure
	}
	since, failing := f.Get(object)
	if !failing {
		since = now
		f.Set(object, since)
	}
	lasts := now.Sub(since)
	failure.Tolerated = lasts < Tolerance
	if failure.Tolerated && (apierrors.IsConflict(failure.Err) || apierrors.IsNotFound(failure.Err)) {
		failure.RetryAfter = max(FirstRetry, lasts) // the retry logs no error
	}
	return failure
}

// Last reports whether an object's reconciles have been failing for at least Tolerance.
func (f *Failures) Last(object types.NamespacedName, now time.Time) bool {
	since, failing := f.Get(object)
	return failing && now.Sub(since) >= Tolerance
}

// End ends an object's series of failures, unless its last reconcile failed transiently. failure is that reconcile's failure, or nil if the
// reconcile succeeded.
func (f *Failures) End(object types.NamespacedName, failure *status.Failure) {
	if failure == nil || !failure.Transient {
		f.Forget(object)
	}
}

// Result converts the outcome of a reconcile to the values that Reconcile returns to the work queue. next is the time until a successful
// reconcile is repeated, or zero if only an event should start the next reconcile.
func Result(next time.Duration, failure *status.Failure) (ctrl.Result, error) {
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
