package status

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/internal/status/message"
)

// Report is the result of a reconcile.
type Report struct {
	Status v1.EchoStatus
	// Transitions holds the changes since the previous status. They are reported as events after Status is written.
	Transitions []Transition
	// Next is the time until the next reconcile if no event arrives, or zero if nothing depends on time.
	Next time.Duration
}

// Evaluate returns the report on a reconcile of an Echo. If the reconcile succeeded, failure is nil. A silent failure leaves the status
// unchanged and reports no transitions.
func Evaluate(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	status := measure(echo, seen, failure)
	v := judge(echo, seen, failure, now)
	record(status, v, echo.Generation, now)
	return Report{
		Status:      *status,
		Transitions: transitions(&echo.Status, status, v, seen),
		Next:        next(echo, status, v, seen, failure, now),
	}
}

// next returns the time until the next reconcile of an Echo if no event arrives, or zero if only an event can change the Echo's status.
// During a failure, the progress deadline is ignored, because the status reports only the failure.
func next(echo *v1.Echo, status *v1.EchoStatus, v outcome, seen Observation, failure *Failure, now time.Time) time.Duration {
	look := Earliest(untilNextLook(echo, seen, failure), seen.CorrectedAfter)
	switch {
	case failure.IsRefused():
		return Earliest(look, v.untilRetry(status, now))
	case failure != nil:
		return look
	default:
		overdue := Earliest(untilOverdue(status, seen.Deployment, now), untilRouteOverdue(echo, seen, now))
		return Earliest(overdue, Earliest(look, v.untilStalled(status, now)))
	}
}

// untilNextLook returns the time until the operator next checks children that it does not watch, because they lost their label. The time is
// zero if there are none. A reconcile restores the label, unless the Echo is paused or cannot be applied.
func untilNextLook(echo *v1.Echo, seen Observation, failure *Failure) time.Duration {
	if seen.Unwatched && (echo.Spec.Paused || failure != nil) {
		return LookPeriod
	}
	return 0
}

// EvaluateDeletion returns the report on a reconcile of an Echo that is being deleted. If the reconcile succeeded, failure is nil. A silent
// failure leaves the status unchanged and reports no transitions.
func EvaluateDeletion(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	status, v := echo.Status.DeepCopy(), deletingVerdict(seen.Held, failure, now)
	status.ObservedGeneration = echo.Generation
	measureObjects(status, seen)
	record(status, v, echo.Generation, now)
	return Report{Status: *status, Transitions: transitions(&echo.Status, status, v, Observation{})}
}

// record writes a verdict to a status. A condition keeps its transition time while its status stays the same.
func record(status *v1.EchoStatus, v outcome, generation int64, now time.Time) {
	status.Phase, status.Message = v.phase, v.shortMessage()
	set := func(kind string, value metav1.ConditionStatus, reason v1.Reason, text string) {
		SetCondition(status, metav1.Condition{
			Type: kind, Status: value, Reason: reason.String(), Message: message.Truncate(text, message.MaxCondition),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		})
	}
	set(v1.ConditionReady, v.ready, v.readyReason, v.readyMessage())
	set(v1.ConditionProgressing, v.progressing, v.progressingReason, v.rollout)
	set(v1.ConditionDegraded, v.degraded, v.degradedReason, v.degradedMessage())
	if v.isStalled(status, now) { // kstatus shows only this condition's message
		set(v1.ConditionStalled, metav1.ConditionTrue, v.readyReason, v.problem.String())
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionStalled)
	}
}

// SetCondition sets a condition. It keeps the conditions in a fixed order, whichever was set first. The console shows the conditions in this
// order.
func SetCondition(status *v1.EchoStatus, condition metav1.Condition) {
	meta.SetStatusCondition(&status.Conditions, condition)
	order := []string{v1.ConditionReady, v1.ConditionProgressing, v1.ConditionDegraded, v1.ConditionStalled, v1.ConditionPathsHealthy}
	rank := func(c metav1.Condition) int {
		if i := slices.Index(order, c.Type); i >= 0 {
			return i
		}
		return len(order) // another client set this condition
	}
	slices.SortStableFunc(status.Conditions, func(a, b metav1.Condition) int { return rank(a) - rank(b) })
}

// measure returns the status except for the phase, the message, and the conditions. Fields that the reconcile did not observe keep their
// values. The external URL also keeps its value until the spec is applied.
func measure(echo *v1.Echo, seen Observation, failure *Failure) *v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	status.Selector = labels.SelectorFromSet(objects.SelectorLabels(echo)).String()
	measureObjects(status, seen)
	if seen.Service != nil { // the Service works regardless of other failures
		status.URL = cmp.Or(objects.LiveURL(echo, seen.Service), status.URL)
	}
	if failure == nil && !echo.Spec.Paused {
		status.URL = objects.URL(echo)
		if seen.Service != nil && !seen.GatewaysUnknown {
			status.ExternalURL = objects.ExternalURL(echo, seen.Service, seen.HTTPRoute, seen.Gateways)
		}
	}
	if seen.Nodes != nil {
		status.NodeProblems = nodeProblems(seen.Nodes)
	}
	return status
}

// measureObjects records in a status which objects of an Echo exist.
func measureObjects(status *v1.EchoStatus, seen Observation) {
	measureDeployment(status, seen)
	if seen.Pods != nil {
		status.Pods = podStates(seen.Pods)
	}
	if seen.Companions != nil {
		status.Companions = countLive(seen.Companions)
	}
}

// measureDeployment records a Deployment's replica counts and its image in a status.
func measureDeployment(status *v1.EchoStatus, seen Observation) {
	d := seen.Deployment
	if d == nil && !seen.NoDeployment {
		return
	}
	if d == nil {
		d = &appsv1.Deployment{}
	}
	status.Replicas = d.Status.Replicas
	status.ReadyReplicas = d.Status.ReadyReplicas
	status.UpdatedReplicas = d.Status.UpdatedReplicas
	status.Image = ""
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name == objects.ContainerName {
			status.Image = container.Image
		}
	}
}
