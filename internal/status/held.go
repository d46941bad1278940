package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// heldFor is how long after an object's deletion began another controller's finalizer makes an Echo degraded. Controllers usually remove
// their finalizers within this time.
const heldFor = time.Minute

// Held is an object that is being deleted, but has another controller's finalizer.
type Held struct {
	kind, name, finalizer string
	since                 time.Time
}

// HeldBy returns the first finalizer that keeps an object, except for the garbage collector's finalizers, which it removes after the
// object's dependents. HeldBy returns nil if the object is nil or is not being deleted, or if it has no such finalizer.
func HeldBy(kind string, object client.Object) *Held {
	if object == nil || object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	for _, finalizer := range object.GetFinalizers() {
		if finalizer != metav1.FinalizerDeleteDependents && finalizer != metav1.FinalizerOrphanDependents {
			return &Held{kind, object.GetName(), finalizer, object.GetDeletionTimestamp().Time}
		}
	}
	return nil
}

// Problem describes the object and its finalizer.
func (h *Held) Problem() message.Problem {
	return message.Problem{
		Text: fmt.Sprintf("the %s %s is being deleted, but still has the finalizer %s", h.kind, h.name, h.finalizer),
		Advice: "The controller that set the finalizer must remove it. If this controller no longer exists, remove the finalizer from the " +
			h.kind + ".",
	}
}

// untilBlocked returns how long the other controller may still take before the Echo is degraded.
func (h *Held) untilBlocked(now time.Time) time.Duration {
	return max(h.since.Add(heldFor).Sub(now), 0)
}

// withHeld returns the outcome for an Echo with a held object, which the operator must replace or remove. held is nil if there is none. The
// second value is the time until the outcome changes without an event. A problem with the pods remains the reason why the Echo is not ready.
func (o outcome) withHeld(held *Held, now time.Time) (outcome, time.Duration) {
	if held == nil {
		return o, 0
	}
	left, problem := held.untilBlocked(now), held.Problem()
	o.progressing, o.progressingReason, o.rollout = metav1.ConditionTrue, v1.ReasonRollingOut, problem.Headline()
	if left == 0 {
		o.progressing, o.progressingReason, o.rollout = metav1.ConditionFalse, v1.ReasonDeletionBlocked, incomplete
	}
	if _, podsFail := o.readyReason.(v1.WarningReason); podsFail {
		o.notes = append([]string{problem.Headline()}, o.notes...)
		return o, left
	}
	if o.problem != (message.Problem{}) {
		o.notes = append([]string{o.problem.Headline()}, o.notes...)
	}
	o.ready, o.readyReason, o.event, o.problem = metav1.ConditionFalse, v1.ReasonRollingOut, v1.EventRolloutStarted, problem
	if o.phase == v1.PhaseReady {
		o.phase = v1.PhaseUpdating
	}
	if left == 0 {
		o.readyReason, o.event, o.phase = v1.ReasonDeletionBlocked, v1.EventNotReady, v1.PhaseWarning
		o.degraded, o.degradedReason, o.attention = metav1.ConditionTrue, v1.ReasonDeletionBlocked, problem
	}
	return o, left
}
