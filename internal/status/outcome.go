package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// verdict is the outcome of a reconcile: the conditions, the phase, and the message.
type outcome struct {
	ready, progressing, degraded                   metav1.ConditionStatus
	readyReason, progressingReason, degradedReason v1.Reason
	// problem describes what is wrong, and attention describes why the Echo is degraded. Both are zero if no problem is known.
	problem, attention message.Problem
	// notes are sentences that do not affect the conditions. counts states how many pods are ready, and rollout describes the progress of
	// the rollout.
	notes           []string
	counts, rollout string
	phase           string
	// stalls determines when the Echo becomes stalled if the Echo is degraded and not ready.
	stalls stalls
	// event is the reason of the event that reports the verdict.
	event v1.Reason
	// eventNote is the note of the event. If eventNote is empty, the verdict's message is the note.
	eventNote string
	// routes is the cause if Gateways do not send requests to the Echo. routed is true if Gateways send requests to the Echo.
	routes cause
	routed bool
	// final is true if the Echo cannot leave this state. A final state is always reported.
	final bool
}

// message returns the whole message: what is wrong, what to do, and how many pods are ready.
func (v outcome) message() string {
	return message.Join(v.problem.String(), message.Join(v.notes...), v.counts)
}

// shortMessage returns the message, shortened to fit into a status.
func (v outcome) shortMessage() string {
	return message.Short(message.MaxStatus, v.problem, slices.Concat(v.notes, []string{v.counts})...)
}

// readyMessage returns the Ready condition's message: how many pods are ready, and why the others are not. It does not repeat the Degraded
// condition's message.
func (v outcome) readyMessage() string {
	why := ""
	switch {
	case v.ready == metav1.ConditionTrue:
	case v.degraded == metav1.ConditionTrue:
		why = v.problem.Headline()
	default:
		why = v.problem.String()
	}
	return message.Join(v.counts, why, message.Join(v.notes...))
}

// degradedMessage returns the Degraded condition's message: what is wrong and what to do.
func (v outcome) degradedMessage() string {
	if v.degraded == metav1.ConditionTrue {
		return v.attention.String()
	}
	return "No lasting problem is known."
}

// judge determines the verdict on a reconcile.
func judge(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) outcome {
	switch {
	case failure != nil:
		return failedVerdict(echo, seen, failure, now)
	case echo.Spec.Paused:
		return pausedVerdict(&echo.Status, seen, now)
	default:
		pods := availabilityOf(seen.Deployment, echo.Spec.DesiredReplicas(), &echo.Status, now)
		return podsVerdict(pods, causesOf(echo, seen, pods, now))
	}
}

// causes holds the facts, other than pod counts, on which a verdict depends.
type causes struct {
	// pods is the cause of missing pods, and routes is the cause if Gateways do not send requests to the Echo. Each is zero if the cause is
	// unknown or if nothing is wrong.
	pods, routes cause
	// routed is true if Gateways send requests to the Echo.
	routed bool
	// notes are sentences that do not affect the conditions.
	notes []string
}

// causesOf returns the causes that an observation of an Echo reveals.
func causesOf(echo *v1.Echo, seen Observation, pods availability, now time.Time) causes {
	c := causes{pods: podsCause(&echo.Status, seen, pods), routes: routeCause(echo, seen, now), notes: notesOn(echo, seen)}
	c.routed = c.routes == (cause{}) && objects.HasGateway(echo)
	return c
}

// podsCause returns why pods are missing, or the zero value if no pods are missing.
func podsCause(before *v1.EchoStatus, seen Observation, pods availability) cause {
	if pods.ready {
		return cause{}
	}
	return causeOf(seen).resolveFrom(before)
}

// podsVerdict returns the verdict on a reconcile that succeeded. The readiness of an Echo depends only on its pods.
func podsVerdict(pods availability, why causes) outcome {
	v := outcome{routes: why.routes, routed: why.routed, rollout: pods.rollout(), phase: pods.phase(why), notes: why.notes}
	v.problem = cmp.Or(why.pods.problem, why.routes.problem, pods.problem())
	v.counts = pods.counts(v.problem != (message.Problem{}))
	if why.pods != (cause{}) && why.routes != (cause{}) {
		v.notes = append([]string{why.routes.problem.Headline()}, v.notes...)
	}
	v.ready, v.readyReason, v.event = pods.readiness(why.pods)
	v.progressing, v.progressingReason = pods.progress()
	v.degraded, v.degradedReason = pods.degradation(why)
	v.attention = v.problem
	if !pods.isStuck() && !why.pods.lasting {
		v.attention = why.routes.problem
	}
	v.stalls = why.pods.stalls()
	return v
}

// failedVerdict returns the verdict on a reconcile that failed.
func failedVerdict(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) outcome {
	problem := Remedy(failure.Err)
	v := outcome{
		ready: metav1.ConditionFalse, readyReason: failure.Reason,
		progressing: metav1.ConditionFalse, progressingReason: failure.Reason,
		degraded: metav1.ConditionTrue, degradedReason: failure.Reason,
		stalls:  failure.stalls(),
		problem: problem, attention: problem,
		rollout: "The latest change has not been fully applied.",
		phase:   v1.PhaseFailed,
		event:   failure.Reason,
	}
	if seen.Deployment != nil {
		pods := availabilityOf(seen.Deployment, replicasOf(seen.Deployment), &echo.Status, now)
		pods.progressing = false // the rollout does not match the current spec
		v.counts = pods.counts(true)
	}
	if failure.Transient {
		v.phase, v.event = v1.PhaseWarning, v1.EventNotReady
		if seen.Deployment == nil { // the state of objects that could not be read is unknown
			v.ready = metav1.ConditionUnknown
		}
	}
	return v
}

// pausedVerdict returns the verdict on a paused Echo. The operator does not change the Echo's objects, so the verdict compares the pods
// with the Deployment's spec, not with the Echo's spec.
func pausedVerdict(before *v1.EchoStatus, seen Observation, now time.Time) outcome {
	const paused, advice = "The Echo is paused: changes are not applied.", "Set spec.paused to false to apply them."
	v := outcome{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPaused, event: v1.EventNotReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonPaused, rollout: paused,
		problem: message.Problem{Text: paused, Advice: advice},
	}
	d := seen.Deployment
	if d == nil {
		v.degraded, v.degradedReason = metav1.ConditionFalse, v1.ReasonAsExpected
		v.counts, v.phase = "No pods have been created.", v1.PhasePending
		return v
	}
	pods := availabilityOf(d, replicasOf(d), before, now)
	pods.progressing, pods.overdue = false, false // no one waits for a paused rollout
	why := causes{pods: podsCause(before, seen, pods)}
	if pods.ready || why.pods != (cause{}) {
		v.ready, v.readyReason, v.event = pods.readiness(why.pods)
	}
	if why.pods != (cause{}) {
		v.problem, v.attention, v.notes = why.pods.problem, why.pods.problem, []string{paused}
	}
	v.degraded, v.degradedReason = pods.degradation(why)
	v.stalls = why.pods.stalls()
	v.counts, v.phase = pods.counts(true), pods.phase(why)
	return v
}

// heldFor is how long after an object's deletion began another controller's finalizer makes a deleted Echo without pods degraded.
// Controllers usually remove their finalizers within this time.
const heldFor = time.Minute

// deletingVerdict returns the verdict on an Echo that is being deleted. failure is nil if the last reconcile succeeded, and held is nil if
// no other controller keeps an object.
func deletingVerdict(held *Held, failure *Failure, now time.Time) outcome {
	const deleting, draining = "The Echo is being deleted.", "Its pods are draining connections."
	v := outcome{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonDeleting,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonDeleting,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonDeleting,
		counts:    message.Join(deleting, draining),
		rollout:   draining,
		phase:     v1.PhaseTerminating,
		event:     v1.EventDeleteRequested,
		eventNote: "Deleting the echo servers and waiting for them to drain connections.",
		final:     true,
	}
	if failure != nil {
		v.degraded, v.degradedReason = metav1.ConditionTrue, failure.Reason
		v.problem, v.counts, v.rollout = Remedy(failure.Err), deleting, "Some objects of the Echo cannot be deleted."
		v.attention = v.problem
	} else if held != nil && now.Sub(held.Object.GetDeletionTimestamp().Time) >= heldFor {
		v.degraded = metav1.ConditionTrue
		v.problem, v.counts, v.rollout = held.problem(), deleting, "Some objects of the Echo still have finalizers."
		v.attention = v.problem
	}
	return v
}

// problem returns why an object still exists, and what to do.
func (h *Held) problem() message.Problem {
	return message.Problem{
		Text: fmt.Sprintf("the %s %s still has the finalizer %s", h.Kind, h.Object.GetName(), h.Finalizer),
		Advice: "The controller that set the finalizer must remove it. If this controller no longer exists, remove the finalizer from the " +
			h.Kind + ".",
	}
}
