package controllers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// nameConflictPeriod is how often a name that is taken is looked at: its release sends the operator no event.
const nameConflictPeriod = time.Minute

// failureKind says what an error calls for.
type failureKind int

const (
	// passing: tried again, later each time.
	passing failureKind = iota
	// stale: the operator's view was old; a fresh look is all it takes, and nobody need hear of it.
	stale
	// waiting: looked at again after a while.
	waiting
	// terminal: only an edit of the Echo helps, and that wakes the operator.
	terminal
	// quiet: nothing to do and nothing to say.
	quiet
)

// failure is an error of a pass and what it calls for.
type failure struct {
	kind   failureKind
	reason string
	err    error
	// after is when to look again, zero for later each time, or never where that does not help.
	after time.Duration
}

// specError is a spec that the schema lets through and the operator cannot carry out.
type specError struct{ message string }

func (e *specError) Error() string { return e.message }

// nameConflictError is an object that has the name of a child and belongs to somebody else.
type nameConflictError struct{ kind, name string }

func (e *nameConflictError) Error() string {
	return fmt.Sprintf("The %s %q was not made for this Echo and is left alone. Delete or rename it, or give the Echo another name.",
		e.kind, e.name)
}

// classify tells what an error calls for; nil for nil.
func classify(err error) *failure {
	var spec *specError
	var conflict *nameConflictError
	var companionConflict *companionConflictError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &spec):
		return &failure{kind: terminal, reason: v1.ReasonInvalidSpec, err: err}
	case errors.As(err, &conflict), errors.As(err, &companionConflict):
		return &failure{kind: waiting, reason: v1.ReasonNameConflict, err: err, after: nameConflictPeriod}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &failure{kind: quiet, err: err}
	case apierrors.IsInvalid(err):
		return &failure{kind: terminal, reason: v1.ReasonInvalidSpec, err: err}
	case apierrors.IsConflict(err):
		return &failure{kind: stale, err: err, after: staleRetry}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot find RESTMapping"):
		return &failure{kind: passing, reason: v1.ReasonForbidden, err: err, after: mappingRetry}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return &failure{kind: passing, reason: v1.ReasonQuotaExceeded, err: err}
	case apierrors.IsForbidden(err):
		return &failure{kind: passing, reason: v1.ReasonForbidden, err: err}
	default:
		return &failure{kind: passing, reason: v1.ReasonApplyFailed, err: err}
	}
}

// silent tells whether a failure leaves the status as it is.
func (f *failure) silent() bool { return f != nil && (f.kind == stale || f.kind == quiet) }

// mappingRetry is how often the operator looks whether the API server knows the kind Echo by heart. One that checks owner references, as on
// OpenShift, refuses them for up to half a minute after the CustomResourceDefinition was installed, which is when many a first Echo is made.
const mappingRetry = 2 * time.Second

// staleRetry is how long the operator waits for its view of an object to catch up.
const staleRetry = 50 * time.Millisecond

// result is what the work queue is told.
func (f *failure) result() (ctrl.Result, error) {
	if f == nil {
		return ctrl.Result{}, nil
	}
	switch {
	case f.kind == quiet:
		return ctrl.Result{}, nil
	case f.kind == terminal:
		return ctrl.Result{}, reconcile.TerminalError(f.err)
	case f.after > 0:
		return ctrl.Result{RequeueAfter: f.after}, nil
	default:
		return ctrl.Result{}, f.err
	}
}
