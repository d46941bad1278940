package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// verdict is what a pass means: the three conditions, the phase and the message.
type verdict struct {
	ready, progressing, degraded                   metav1.ConditionStatus
	readyReason, progressingReason, degradedReason v1.Reason
	message                                        string
	phase                                          string
	// event is the reason of the event that reports the verdict.
	event v1.Reason
	// eventNote is the note of that event, empty for the message.
	eventNote string
	// routes is why Gateways do not send requests to the Echo, if they do not. routed is true if they do.
	routes cause
	routed bool
	// final is true if the Echo does not leave this state, so that it is always reported.
	final bool
}

// judge decides what a pass means.
func judge(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) verdict {
	switch {
	case failure != nil:
		return failedVerdict(seen, failure)
	case echo.Spec.Paused:
		return pausedVerdict(&echo.Status, seen, now)
	default:
		return podsVerdict(&echo.Status, rolloutOf(seen.Deployment, echo.Spec.Replicas, &echo.Status, now), seen).
			behind(echo, routeCause(echo, seen, now)).
			unsaid(echo, seen)
	}
}

// podsVerdict returns the verdict of a pass that succeeded.
func podsVerdict(before *v1.EchoStatus, pods rollout, seen Observation) verdict {
	switch {
	case pods.ready:
		return readyVerdict(pods)
	case pods.progressing:
		return rollingVerdict(pods).because(causeOf(seen).since(before))
	default:
		return missingVerdict(pods).because(causeOf(seen).since(before))
	}
}

// because returns a verdict with the cause added, if it is known.
func (v verdict) because(c cause) verdict {
	if c == (cause{}) {
		return v
	}
	v.readyReason, v.event = c.reason, v1.EventNotReady
	v.message += " " + c.message
	if c.warning || c.lasting {
		v.phase = v1.PhaseWarning
	}
	if c.lasting && v.degraded != metav1.ConditionTrue {
		v.degraded, v.degradedReason = metav1.ConditionTrue, c.reason
	}
	return v
}

// behind returns a verdict with why Gateways do not send requests to the Echo, if they do not. Whether it is ready depends on its pods alone.
func (v verdict) behind(echo *v1.Echo, c cause) verdict {
	if c == (cause{}) {
		v.routed = children.HasGateway(echo)
		return v
	}
	v.message += " " + c.message
	v.phase, v.routes = v1.PhaseWarning, c
	if v.degraded != metav1.ConditionTrue {
		v.degraded, v.degradedReason = metav1.ConditionTrue, c.reason
	}
	return v
}

// unsaid returns a verdict that tells why the URL of a Gateway is not known, if the operator may not read Gateways.
func (v verdict) unsaid(echo *v1.Echo, seen Observation) verdict {
	if children.HasGateway(echo) && seen.GatewaysRefused != "" {
		v.message += " The URL at the Gateway is not known: " + sentence(seen.GatewaysRefused)
	}
	return v
}

// failedVerdict returns the verdict of a pass that failed.
func failedVerdict(seen Observation, failure *Failure) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: failure.Reason,
		progressing: metav1.ConditionFalse, progressingReason: failure.Reason,
		degraded: metav1.ConditionTrue, degradedReason: failure.Reason,
		message: failure.Err.Error(),
		phase:   v1.PhaseFailed,
		event:   failure.Reason,
	}
	if failure.Advice != "" {
		v.message = sentence(v.message) + " " + failure.Advice
	}
	if failure.Transient {
		v.phase, v.event = v1.PhaseWarning, v1.EventNotReady
		if seen.Deployment == nil { // what could not be read is unknown
			v.ready = metav1.ConditionUnknown
		}
	}
	return v
}

// pausedVerdict returns the verdict on a paused Echo. Its objects are left unchanged, and are measured by their own spec.
func pausedVerdict(before *v1.EchoStatus, seen Observation, now time.Time) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPaused,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: "It has no Deployment.",
		phase:   v1.PhasePending,
		event:   v1.EventNotReady,
	}
	if d := seen.Deployment; d != nil {
		pods := rolloutOf(d, *d.Spec.Replicas, before, now)
		if pods.ready {
			v = readyVerdict(pods)
		} else {
			v.message, v.phase = pods.String(), v1.PhaseWarning
			v = v.because(causeOf(seen).since(before))
		}
	}
	v.progressing, v.progressingReason = metav1.ConditionFalse, v1.ReasonPaused
	v.message = "The Echo is paused: changes are not applied. " + v.message
	return v
}

// readyVerdict returns the verdict on an Echo whose pods are all as wanted.
func readyVerdict(pods rollout) verdict {
	v := verdict{
		ready: metav1.ConditionTrue, readyReason: v1.ReasonAllPodsReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonRolledOut,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: pods.String(),
		phase:   v1.PhaseReady,
		event:   v1.EventReady,
	}
	if pods.want == 0 {
		v.readyReason, v.message = v1.ReasonScaledToZero, "No pods are requested and none are running."
	}
	return v
}

// rollingVerdict returns the verdict on an Echo of which a change is being rolled out.
func rollingVerdict(pods rollout) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonRollingOut,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonRollingOut,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: fmt.Sprintf("A change is being rolled out: %d of %d pods are updated. %s", pods.updated, pods.want, pods),
		phase:   v1.PhaseUpdating,
		event:   v1.EventRollout,
	}
	if pods.first {
		v.phase = v1.PhasePending
	}
	return v
}

// missingVerdict returns the verdict on an Echo whose pods are missing or not ready although nothing is being rolled out.
func missingVerdict(pods rollout) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPodsNotReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonPodsNotReady,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: pods.String(),
		phase:   v1.PhaseWarning,
		event:   v1.EventNotReady,
	}
	if pods.overdue {
		v.readyReason, v.progressingReason = v1.ReasonProgressDeadlineExceeded, v1.ReasonProgressDeadlineExceeded
		v.degraded, v.degradedReason = metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded
		v.message += fmt.Sprintf(" There has been no progress for %.0f minutes.", children.ProgressDeadline.Minutes())
	}
	return v
}

// deletingVerdict returns the verdict on an Echo that is being deleted. failure is why that does not go on, nil if it does.
func deletingVerdict(failure *Failure) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonDeleting,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonDeleting,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonDeleting,
		message:   "The Echo is being deleted. Its pods are draining connections.",
		phase:     v1.PhaseTerminating,
		event:     v1.EventDeleteRequested,
		eventNote: "Deleting the echo servers and waiting for them to drain connections.",
		final:     true,
	}
	if failure != nil {
		v.degraded, v.degradedReason = metav1.ConditionTrue, failure.Reason
		v.message = "The Echo is being deleted, but not everything that was created for it can be. " + failure.Err.Error()
	}
	return v
}
