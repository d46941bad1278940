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

// memory holds values for objects, to avoid unnecessary requests, reconciles, or events. It may be lost at any time, for example when the
// operator restarts. No decision depends on a memory, as the tests in tests/reliability show. Its methods may be called concurrently.
type memory[T any] struct {
	lock sync.Mutex
	of   map[types.NamespacedName]T
}

// get returns the value held for an object, and whether there is one.
func (m *memory[T]) get(object types.NamespacedName) (T, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	value, found := m.of[object]
	return value, found
}

func (m *memory[T]) set(object types.NamespacedName, value T) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[object] = value
}

func (m *memory[T]) forget(object types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.of, object)
}

// clear drops all values.
func (m *memory[T]) clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.of = nil
}

// lastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type lastReports struct{ memory[string] }

// replace records the last report about an object, and returns whether the report is new.
func (l *lastReports) replace(object types.NamespacedName, said string) bool {
	last, _ := l.get(object)
	if said == "" {
		l.forget(object)
	} else {
		l.set(object, said)
	}
	return last != said
}

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
	since, failing := f.get(object)
	if !failing {
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

// haveLasted reports whether an object's reconciles have been failing for at least Tolerance.
func (f *failures) haveLasted(object types.NamespacedName, now time.Time) bool {
	since, failing := f.get(object)
	return failing && now.Sub(since) >= Tolerance
}

// end ends an object's series of failures, unless its last reconcile failed transiently. failure is that reconcile's failure, or nil if the
// reconcile succeeded.
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
