package status

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// outcome is what a reconcile means: the conditions, the phase, and the message.
type outcome struct {
	ready, progressing, degraded                   metav1.ConditionStatus
	readyReason, progressingReason, degradedReason v1.Reason
	// problem describes what is wrong, and attention describes why the Echo is degraded. Both are zero if no problem is known.
	problem, attention message.Problem
	// notes are sentences that do not affect the conditions. counts states how many pods are ready, and rollout how the rollout progresses.
	notes           []string
	counts, rollout string
	phase           string
	// stalls determines when the Echo becomes stalled if the Echo is degraded and not ready.
	stalls stalls
	// event is the reason of the event that reports the outcome.
	event v1.Reason
	// eventNote is the note of the event. If eventNote is empty, the note says what is wrong, what to do, and how many pods are ready.
	eventNote string
	// routes is the cause if Gateways do not send requests to the Echo. routed is true if Gateways send requests to the Echo.
	routes cause
	routed bool
	// final is true if the Echo cannot leave this state. A final state is always reported.
	final bool
}

// podsCause returns why pods are missing, or the zero value if no pods are missing.
func podsCause(before *v1.EchoStatus, seen Observation, pods availability) cause {
	if pods.ready {
		return cause{}
	}
	return causeOf(seen).resolveFrom(before)
}

// podsOutcome returns the outcome of a successful reconcile. An Echo's readiness depends only on its pods. why is the cause of missing
// pods, and routes is the cause if Gateways do not send requests to the Echo. Each is zero if the cause is unknown or nothing is wrong.
func podsOutcome(pods availability, why, routes cause) outcome {
	o := pods.outcome(why, routes)
	o.routes, o.problem = routes, cmp.Or(why.problem, routes.problem)
	if o.problem == (message.Problem{}) && pods.isStuck() {
		o.problem = message.Problem{Text: o.rollout,
			Advice: "Check the log and the readiness probe of the pods: their container must listen on spec.port."}
	}
	o.counts = pods.counts(o.problem != (message.Problem{}))
	if why != (cause{}) && routes != (cause{}) {
		o.notes = []string{routes.problem.Headline()}
	}
	o.attention = o.problem
	if !pods.isStuck() && !why.lasting {
		o.attention = routes.problem
	}
	return o
}

// incomplete describes the progress of a rollout that does not match the current spec.
const incomplete = "The latest change has not been fully applied."

// failedOutcome returns the outcome of a reconcile that failed.
func failedOutcome(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) outcome {
	problem := Remedy(failure.Err)
	o := outcome{
		ready: metav1.ConditionFalse, readyReason: failure.Reason,
		progressing: metav1.ConditionFalse, progressingReason: failure.Reason,
		degraded: metav1.ConditionTrue, degradedReason: failure.Reason,
		stalls:  failure.stalls(),
		problem: problem, attention: problem,
		rollout: incomplete,
		phase:   v1.PhaseFailed,
		event:   failure.Reason,
	}
	if seen.Deployment != nil {
		pods := availabilityOf(seen.Deployment, replicasOf(seen.Deployment), &echo.Status, now)
		pods.progressing = false // the rollout does not match the current spec
		o.counts = pods.counts(true)
	}
	if failure.Transient {
		o.phase, o.event = v1.PhaseWarning, v1.EventNotReady
		if seen.Deployment == nil { // the state of objects that could not be read is unknown
			o.ready = metav1.ConditionUnknown
		}
	}
	return o
}

// pausedOutcome returns the outcome for a paused Echo. The operator does not change the Echo's objects, so the outcome compares the pods
// with the Deployment's spec, not with the Echo's spec.
func pausedOutcome(before *v1.EchoStatus, seen Observation, now time.Time) outcome {
	const paused, advice = "The Echo is paused: changes are not applied.", "To apply them, turn off Paused (spec.paused: false)."
	pods, why := availability{}, cause{}
	if d := seen.Deployment; d != nil {
		pods = availabilityOf(d, replicasOf(d), before, now)
		pods.progressing, pods.overdue = false, false // no one waits for a paused rollout
		why = podsCause(before, seen, pods)
	}
	o := pods.outcome(why, cause{})
	o.progressingReason, o.rollout = v1.ReasonPaused, paused
	o.problem, o.counts = message.Problem{Text: paused, Advice: advice}, pods.counts(true)
	switch {
	case why != (cause{}):
		o.problem, o.attention, o.notes = why.problem, why.problem, []string{paused}
	case !pods.ready:
		o.readyReason = v1.ReasonPaused
	}
	if seen.Deployment == nil {
		o.counts, o.phase = "No pods have been created.", v1.PhasePending
	}
	return o
}

// deletingOutcome returns the outcome for an Echo that is being deleted. failure is nil if the last reconcile succeeded, and held is nil if
// no other controller keeps an object.
func deletingOutcome(held *Held, failure *Failure, now time.Time) outcome {
	const deleting, draining = "The Echo is being deleted.", "Its pods are draining connections."
	o := outcome{
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
		o.degraded, o.degradedReason = metav1.ConditionTrue, failure.Reason
		o.problem, o.counts, o.rollout = Remedy(failure.Err), deleting, "Some objects of the Echo cannot be deleted."
		o.attention = o.problem
	} else if held != nil && held.untilBlocked(now) == 0 {
		o.degraded, o.problem = metav1.ConditionTrue, held.Problem()
		o.counts, o.rollout, o.attention = deleting, "Some objects of the Echo still have finalizers.", o.problem
	}
	return o
}
