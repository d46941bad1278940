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
	// stalledAfter is how long a rejection must last before the Echo is stalled. The operator waits because missing objects are often
	// created at about the same time as the Echo.
	stalledAfter = time.Minute
	// refusalRetry is the wait before the first retry after a rejection that the status reports.
	refusalRetry = 2 * time.Second
)

// stalls specifies when an Echo becomes stalled. kstatus then reports the Echo as failed, and tools that wait for the Echo give up.
type stalls int

const (
	stallsNever stalls = iota
	stallsLater
	stallsAtOnce
)

// stallsBy returns when an Echo that is not ready becomes stalled, depending on the reason. Problems with images, nodes, and quotas can
// resolve without an edit to the Echo.
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

// stalls returns when a failure causes an Echo to stall.
func (f *Failure) stalls() stalls {
	switch {
	case f.Reason == v1.ReasonInvalidSpec && !f.NoRetry: // from the API server, which may accept the spec after other objects change
		return stallsLater
	case f.Reason == v1.ReasonApplyFailed && !isRefusal(f.Err):
		return stallsNever
	default:
		return stallsBy(f.Reason)
	}
}

// stalls returns when a cause of missing pods makes an Echo stall.
func (c cause) stalls() stalls {
	if !c.lasting {
		return stallsNever
	}
	return stallsBy(c.reason)
}

// IsRefused reports whether the API server keeps rejecting one of the reconcile's requests until a user acts.
func (f *Failure) IsRefused() bool { return f != nil && f.stalls() == stallsLater }

// isRefusal reports whether the API server rejected a request because of its content and would reject the same request again.
func isRefusal(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && slices.Contains([]int32{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}, status.Status().Code)
}

// isStalled reports whether an Echo with this verdict is stalled. status contains the verdict's other conditions.
func (v outcome) isStalled(status *v1.EchoStatus, now time.Time) bool {
	switch {
	case v.ready == metav1.ConditionTrue || v.degraded != metav1.ConditionTrue:
		return false
	case v.stalls == stallsLater:
		return degradedFor(status, now) >= stalledAfter
	default:
		return v.stalls == stallsAtOnce
	}
}

// untilStalled returns the time until an Echo becomes stalled, or zero if the Echo is already stalled or will not stall.
func (v outcome) untilStalled(status *v1.EchoStatus, now time.Time) time.Duration {
	if v.stalls != stallsLater || v.degraded != metav1.ConditionTrue || v.ready == metav1.ConditionTrue {
		return 0
	}
	return max(stalledAfter-degradedFor(status, now), 0)
}

// untilRetry returns the wait before the next retry after a rejection. The wait equals the time that the rejection has lasted, but ends
// when the Echo becomes stalled. After that, the operator retries at a fixed rate.
func (v outcome) untilRetry(status *v1.EchoStatus, now time.Time) time.Duration {
	if left := v.untilStalled(status, now); left > 0 {
		return min(max(degradedFor(status, now), refusalRetry), left)
	}
	return LookPeriod
}

// degradedFor returns how long the Degraded condition has been True. A rejection has lasted just as long, unless the Echo was already
// degraded before the rejection.
func degradedFor(status *v1.EchoStatus, now time.Time) time.Duration {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	if degraded == nil || degraded.Status != metav1.ConditionTrue {
		return 0
	}
	return now.Sub(degraded.LastTransitionTime.Time)
}
