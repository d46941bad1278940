package controllers

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// maxMessage is the longest message that a condition may carry, in bytes.
const maxMessage = 32768

// What the Deployment controller writes on a Deployment.
const (
	revisionAnnotation         = "deployment.kubernetes.io/revision"
	deploymentRolledOut        = "NewReplicaSetAvailable"
	deploymentDeadlineExceeded = "ProgressDeadlineExceeded"
)

// verdict is what the three conditions of a status say, before it is written down.
type verdict struct {
	ready, progressing, degraded                   metav1.ConditionStatus
	readyReason, progressingReason, degradedReason string
	message                                        string
	phase                                          string
}

// statusFor is the status of an Echo after a pass.
func statusFor(echo *v1.Echo, seen observation, failed *failure, images Images, now time.Time) v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	status.Selector = labels.SelectorFromSet(selectorLabels(echo)).String()
	status.URL = urlOf(echo)
	status.Image = images.of(echo)
	if d := seen.deployment; d != nil {
		status.Replicas = d.Status.Replicas
		status.ReadyReplicas = d.Status.ReadyReplicas
		status.UpdatedReplicas = d.Status.UpdatedReplicas
	}
	if seen.pods != nil {
		status.Pods = podStates(seen.pods)
	}
	if seen.companions != nil {
		status.Companions = countLive(seen.companions)
	}
	if seen.nodes != nil {
		status.NodeProblems = nodeProblems(seen.nodes)
	}
	record(status, judge(echo, seen, failed, now), echo.Generation, now)
	return *status
}

// terminatingStatus is the status of an Echo that is being deleted.
func terminatingStatus(echo *v1.Echo, now time.Time) v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	record(status, verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonDeleting,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonDeleting,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonDeleting,
		message: "The Echo is being deleted; its pods are draining.",
		phase:   v1.PhaseTerminating,
	}, echo.Generation, now)
	return *status
}

// record writes a verdict down. A condition keeps its transition time while its status stays.
func record(status *v1.EchoStatus, v verdict, generation int64, now time.Time) {
	status.Phase = v.phase
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: cut(message, maxMessage),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		})
	}
	attention := ""
	if v.degraded == metav1.ConditionTrue {
		attention = v.message
	}
	set(v1.ConditionReady, v.ready, v.readyReason, v.message)
	set(v1.ConditionProgressing, v.progressing, v.progressingReason, v.message)
	set(v1.ConditionDegraded, v.degraded, v.degradedReason, attention)
}

// cut shortens a text to a number of bytes without splitting a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("...")], "") + "..."
}

// judge decides what a pass means.
func judge(echo *v1.Echo, seen observation, failed *failure, now time.Time) verdict {
	switch {
	case failed != nil:
		return failedVerdict(seen, failed)
	case echo.Spec.Paused:
		return pausedVerdict(seen)
	case isReady(seen.deployment, echo.Spec.Replicas):
		return readyVerdict(echo.Spec.Replicas)
	case progressing(echo, seen.deployment, now):
		return rollingVerdict(echo, seen.deployment).because(causeOf(seen))
	default:
		return missingVerdict(echo, seen.deployment, now).because(causeOf(seen))
	}
}

// because adds why pods are missing, if that is known. A rollout does not hide that a node is to blame.
func (v verdict) because(c cause) verdict {
	if c != (cause{}) {
		v.readyReason = c.reason
		v.message += " " + c.message
	}
	if c.reason == v1.ReasonNodeProblem {
		v.phase = v1.PhaseWarning
	}
	return v
}

// failedVerdict is for a pass that could not do its work.
func failedVerdict(seen observation, failed *failure) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: failed.reason,
		progressing: metav1.ConditionFalse, progressingReason: failed.reason,
		degraded: metav1.ConditionTrue, degradedReason: failed.reason,
		message: failed.err.Error(),
		phase:   v1.PhaseFailed,
	}
	if failed.kind == passing {
		v.phase = v1.PhaseWarning
		if seen.deployment == nil { // what could not be read is not known
			v.ready = metav1.ConditionUnknown
		}
	}
	return v
}

// pausedVerdict is for an Echo whose objects are left alone: they count by what they themselves want.
func pausedVerdict(seen observation) verdict {
	d := seen.deployment
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPaused, phase: v1.PhasePending,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: "Nothing has been made yet.",
	}
	if d != nil && isReady(d, *d.Spec.Replicas) {
		v = readyVerdict(*d.Spec.Replicas)
	} else if d != nil {
		v.phase, v.message = v1.PhaseWarning, podsReady(*d.Spec.Replicas, d)
		v = v.because(causeOf(seen))
	}
	v.progressing, v.progressingReason = metav1.ConditionFalse, v1.ReasonPaused
	v.message = "The Echo is paused; changes are not carried out. " + v.message
	return v
}

func readyVerdict(replicas int32) verdict {
	v := verdict{
		ready: metav1.ConditionTrue, readyReason: v1.ReasonAllPodsReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonRolledOut,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: fmt.Sprintf("%d of %d pods are ready.", replicas, replicas),
		phase:   v1.PhaseReady,
	}
	if replicas == 0 {
		v.readyReason, v.message = v1.ReasonScaledToZero, "No pods are wanted and there are none."
	}
	return v
}

func rollingVerdict(echo *v1.Echo, d *appsv1.Deployment) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonRollingOut,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonRollingOut,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: fmt.Sprintf("A change is being rolled out: %d of %d pods are up to date. %s",
			min(d.Status.UpdatedReplicas, echo.Spec.Replicas), echo.Spec.Replicas, podsReady(echo.Spec.Replicas, d)),
		phase: v1.PhaseUpdating,
	}
	if firstRollout(d) {
		v.phase = v1.PhasePending
	}
	return v
}

func missingVerdict(echo *v1.Echo, d *appsv1.Deployment, now time.Time) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPodsNotReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonPodsNotReady,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		message: podsReady(echo.Spec.Replicas, d),
		phase:   v1.PhaseWarning,
	}
	if overdue(&echo.Status, d, now) {
		v.readyReason, v.progressingReason = v1.ReasonProgressDeadlineExceeded, v1.ReasonProgressDeadlineExceeded
		v.degraded, v.degradedReason = metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded
		v.message += fmt.Sprintf(" Nothing has come of it for %.0f minutes.", progressDeadline.Minutes())
	}
	return v
}

func podsReady(want int32, d *appsv1.Deployment) string {
	return fmt.Sprintf("%d of %d pods are ready.", min(d.Status.AvailableReplicas, want), want)
}

// isReady tells whether the pods are as wanted: the Deployment controller has seen the latest wish, and every pod is of
// the latest kind and available.
func isReady(d *appsv1.Deployment, want int32) bool {
	return d != nil && d.DeletionTimestamp.IsZero() && d.Generation <= d.Status.ObservedGeneration &&
		d.Status.Replicas == want && d.Status.UpdatedReplicas == want && d.Status.AvailableReplicas == want
}

// progressing tells whether a change is on its way to the pods. The Deployment controller ends a rollout only once and does
// not begin another when the number of pods changes, so a scaling that it has taken up counts until the pods are there.
func progressing(echo *v1.Echo, d *appsv1.Deployment, now time.Time) bool {
	if rolling(d) {
		return !deadlineExceeded(d)
	}
	return meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionProgressing) && !overdue(&echo.Status, d, now)
}

// rolling tells whether the Deployment controller has work in hand.
func rolling(d *appsv1.Deployment) bool {
	if !d.DeletionTimestamp.IsZero() || d.Generation > d.Status.ObservedGeneration || d.Status.Replicas != d.Status.UpdatedReplicas {
		return true
	}
	condition := deploymentProgressing(d)
	return condition == nil || condition.Reason != deploymentRolledOut
}

// firstRollout tells whether a Deployment has never yet had all its pods.
func firstRollout(d *appsv1.Deployment) bool {
	if revision := d.Annotations[revisionAnnotation]; revision != "" && revision != "1" {
		return false
	}
	condition := deploymentProgressing(d)
	return condition == nil || condition.Reason != deploymentRolledOut
}

// overdue tells whether pods have been missing for longer than a rollout may stand still. During a rollout the Deployment
// controller judges that; afterwards it no longer looks and the operator does.
func overdue(status *v1.EchoStatus, d *appsv1.Deployment, now time.Time) bool {
	if rolling(d) {
		return deadlineExceeded(d)
	}
	if degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded); degraded != nil &&
		degraded.Status == metav1.ConditionTrue && degraded.Reason == v1.ReasonProgressDeadlineExceeded {
		return true
	}
	since := missingSince(status)
	return !since.IsZero() && now.Sub(since) >= progressDeadline
}

// untilOverdue is how long to wait before looking whether an Echo has become overdue, and zero when nothing depends on it.
func untilOverdue(status *v1.EchoStatus, now time.Time) time.Duration {
	since := missingSince(status)
	if since.IsZero() || meta.IsStatusConditionTrue(status.Conditions, v1.ConditionDegraded) {
		return 0
	}
	return max(progressDeadline-now.Sub(since), 0)
}

// missingSince is when pods were last seen to go missing or a change to begin; zero when the Echo is ready.
func missingSince(status *v1.EchoStatus) time.Time {
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	progressing := meta.FindStatusCondition(status.Conditions, v1.ConditionProgressing)
	if ready == nil || progressing == nil || ready.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	if progressing.LastTransitionTime.After(ready.LastTransitionTime.Time) {
		return progressing.LastTransitionTime.Time
	}
	return ready.LastTransitionTime.Time
}

func deadlineExceeded(d *appsv1.Deployment) bool {
	condition := deploymentProgressing(d)
	return condition != nil && condition.Reason == deploymentDeadlineExceeded && d.Generation <= d.Status.ObservedGeneration
}

func deploymentProgressing(d *appsv1.Deployment) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == appsv1.DeploymentProgressing {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}
