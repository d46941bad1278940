package status

import (
	"errors"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// stalledAfter is how long a refusal must last before the Echo is stalled. What the Echo lacks is often created together with it.
	stalledAfter = time.Minute
	// refusalRetry is the first period after which a refusal that the status reports is retried.
	refusalRetry = 2 * time.Second
)

// stalls says when an Echo becomes stalled: kstatus then reports it as failed, and tools that wait for it give up.
type stalls int

const (
	stallsNever stalls = iota
	stallsLater
	stallsAtOnce
)

// stallsBy returns when an Echo becomes stalled that is not ready for a reason. Images, nodes and quotas can recover without an edit.
func stallsBy(reason v1.Reason) stalls {
	switch reason {
	case v1.ReasonInvalidSpec, v1.ReasonNameConflict:
		return stallsAtOnce
	case v1.ReasonForbidden, v1.ReasonApplyFailed, v1.ReasonPodsRejected, v1.ReasonServiceAccountNotFound:
		return stallsLater
	default:
		return stallsNever
	}
}

// stalls returns when an Echo becomes stalled by a failure.
func (f *Failure) stalls() stalls {
	switch {
	case f.Reason == v1.ReasonInvalidSpec && !f.NoRetry: // found by the API server, which other objects can make accept the spec
		return stallsLater
	case f.Reason == v1.ReasonApplyFailed && !isRefusal(f.Err):
		return stallsNever
	default:
		return stallsBy(f.Reason)
	}
}

// stalls returns when an Echo becomes stalled by the cause of missing pods.
func (c cause) stalls() stalls {
	if !c.lasting {
		return stallsNever
	}
	return stallsBy(c.reason)
}

// IsRefused reports whether the API server refuses a request of the reconcile until a user acts.
func (f *Failure) IsRefused() bool { return f != nil && f.stalls() == stallsLater }

// isRefusal reports whether the API server refuses a request for what is in it. It refuses the same request again.
func isRefusal(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && slices.Contains([]int32{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}, status.Status().Code)
}

// isStalled reports whether an Echo with a verdict is stalled. status has the other conditions of the verdict.
func (v verdict) isStalled(status *v1.EchoStatus, now time.Time) bool {
	switch {
	case v.ready == metav1.ConditionTrue || v.degraded != metav1.ConditionTrue:
		return false
	case v.stalls == stallsLater:
		return degradedFor(status, now) >= stalledAfter
	default:
		return v.stalls == stallsAtOnce
	}
}

// untilStalled returns how long it takes until an Echo becomes stalled, and zero if it does not, or is.
func (v verdict) untilStalled(status *v1.EchoStatus, now time.Time) time.Duration {
	if v.stalls != stallsLater || v.degraded != metav1.ConditionTrue || v.ready == metav1.ConditionTrue {
		return 0
	}
	return max(stalledAfter-degradedFor(status, now), 0)
}

// untilRetry returns when to retry a refusal: after as long as it has lasted, and when it makes the Echo stalled. Afterwards the operator
// looks again at a fixed rate.
func (v verdict) untilRetry(status *v1.EchoStatus, now time.Time) time.Duration {
	if left := v.untilStalled(status, now); left > 0 {
		return min(max(degradedFor(status, now), refusalRetry), left)
	}
	return LookPeriod
}

// degradedFor returns how long the Degraded condition has been True: the time of a refusal, unless the Echo was degraded before it.
func degradedFor(status *v1.EchoStatus, now time.Time) time.Duration {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	if degraded == nil || degraded.Status != metav1.ConditionTrue {
		return 0
	}
	return now.Sub(degraded.LastTransitionTime.Time)
}
