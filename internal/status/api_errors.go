package status

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// Failure describes a reconcile's error, and how the operator handles it. By default, the reconcile is retried with exponential backoff.
type Failure struct {
	Err error
	// Reason is the reason that the conditions report, or nil if the status does not change.
	Reason v1.Reason
	// Transient is true if the failure might go away without a change to this Echo.
	Transient bool
	// Tolerated is true if the failure is transient and has not lasted long. The status does not change for a tolerated failure.
	Tolerated bool
	// RetryAfter is the time until the next retry, or zero for exponential backoff.
	RetryAfter time.Duration
	// NoRetry is true if only an event can make a retry succeed.
	NoRetry bool
}

// These are the retry periods for failures that are retried at a fixed rate.
const (
	// LookPeriod is how often the operator checks an object that it does not watch, such as a foreign object that has a child's name.
	LookPeriod = time.Minute
	// definitionRetry is the retry period while a CustomResourceDefinition is being deleted.
	definitionRetry = 2 * time.Second
)

// Classify returns the failure for an error, or nil for a nil error.
func Classify(err error) *Failure {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*objects.InvalidSpecError)):
		return &Failure{Err: err, Reason: v1.ReasonInvalidSpec, NoRetry: true}
	case errors.As(err, new(*objects.NameConflictError)):
		return &Failure{Err: err, Reason: v1.ReasonNameConflict, RetryAfter: LookPeriod}
	case IsDenied(err):
		return &Failure{Err: err, Reason: v1.ReasonForbidden, Transient: true}
	case apierrors.IsInvalid(err), strings.Contains(err.Error(), "failed to create typed patch object"):
		// The second is a 500 response to an apply with a field that the API server does not know, or with a duplicate key. The operator retries,
		// because the validity of an object also depends on other objects and on the API server's version.
		return &Failure{Err: err, Reason: v1.ReasonInvalidSpec}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Failure{Err: err, NoRetry: true}
	case IsQuotaExceeded(err):
		return &Failure{Err: err, Reason: v1.ReasonQuotaExceeded, Transient: true}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "while custom resource definition is terminating"):
		// Only the message distinguishes the causes of a 403 response. This one occurs only for route kinds, whose watches report when the
		// definition is gone.
		return &Failure{Err: err, RetryAfter: definitionRetry}
	case apierrors.IsForbidden(err):
		return &Failure{Err: err, Reason: v1.ReasonForbidden, Transient: true}
	default:
		return &Failure{Err: err, Reason: v1.ReasonApplyFailed, Transient: true}
	}
}

// Silent reports whether a failure leaves the status unchanged. Silent returns false for a nil failure.
func (f *Failure) Silent() bool { return f != nil && (f.Reason == nil || f.Tolerated) }

// RetriedFirst returns the error with the earliest retry, given the errors from independent parts of a reconcile. This way, no part waits
// for another part's later retry. RetriedFirst ignores nil errors.
func RetriedFirst(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	wait := func(err error) time.Duration {
		failure := Classify(err)
		if failure.NoRetry {
			return math.MaxInt64
		}
		return failure.RetryAfter
	}
	return slices.MinFunc(errs, func(a, b error) int { return cmp.Compare(wait(a), wait(b)) })
}

// NameWasTaken reports whether an Echo's status shows that another object has a child's name.
func NameWasTaken(echo *v1.Echo) bool {
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	return ready != nil && ready.Reason == v1.ReasonNameConflict.String()
}
