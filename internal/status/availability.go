package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// These are values that the Deployment controller writes to a Deployment: see k8s.io/kubernetes/pkg/controller/deployment/util.
const (
	revisionAnnotation         = "deployment.kubernetes.io/revision"
	deploymentRolledOut        = "NewReplicaSetAvailable"
	deploymentDeadlineExceeded = "ProgressDeadlineExceeded"
)

// availability is the state of a Deployment's pods, compared with the desired state.
type availability struct {
	want int32
	// updated and available never exceed the number of desired pods.
	updated, available int32
	// ready is true if all pods are updated and available, and no other pods remain.
	ready bool
	// progressing is true while a change is being rolled out, and first is true if the Deployment has never had all of its pods.
	progressing, first bool
	// overdue is true if pods have been missing for longer than the progress deadline.
	overdue bool
}

// availabilityOf returns the availability of a Deployment's pods. want is their desired number, and before is the Echo's previous status.
func availabilityOf(d *appsv1.Deployment, want int32, before *v1.EchoStatus, now time.Time) availability {
	pods := availability{
		want:      want,
		updated:   min(d.Status.UpdatedReplicas, want),
		available: min(d.Status.AvailableReplicas, want),
		ready:     isReady(d, want),
	}
	if revision := d.Annotations[revisionAnnotation]; revision == "" || revision == "1" {
		pods.first = progressReason(d) != deploymentRolledOut
	}
	if rolling(d) {
		pods.overdue = deadlineExceeded(d)
		pods.progressing = !pods.overdue
		return pods
	}
	// The Deployment controller completes a rollout only once, and does not start another when the number of replicas changes. Scaling
	// therefore counts as a rollout until the pods are ready, and the operator determines whether the deadline has passed.
	since := missingSince(before, d)
	pods.overdue = staysOverdue(before) || !since.IsZero() && now.Sub(since) >= objects.ProgressDeadline
	pods.progressing = meta.IsStatusConditionTrue(before.Conditions, v1.ConditionProgressing) && !pods.overdue
	return pods
}

// counts returns a sentence that states how many pods are ready. Unless the message names a cause, it mentions a rollout.
func (a availability) counts(hasCause bool) string {
	switch rolling := a.progressing && !a.ready; {
	case a.ready && a.want == 0:
		return "No pods are requested and none are running."
	case rolling && a.first && !hasCause:
		return fmt.Sprintf("The pods are starting: %d of %d are ready.", a.available, a.want)
	case rolling && !a.first && !hasCause:
		return fmt.Sprintf("A change is being rolled out: %d of %d pods are updated, and %d are ready.", a.updated, a.want, a.available)
	case rolling && !a.first:
		return fmt.Sprintf("%d of %d pods are updated, and %d are ready.", a.updated, a.want, a.available)
	default:
		return fmt.Sprintf("%d of %d pods are ready.", a.available, a.want)
	}
}

// isStuck reports whether pods have been missing for longer than the deadline and no change is being rolled out.
func (a availability) isStuck() bool { return !a.ready && !a.progressing && a.overdue }

// outcome returns the conditions and the phase that result from the state of the pods and from the causes of missing pods and of unused
// routes. A cause of missing pods determines the reason why the Echo is not ready, but the Progressing condition still shows whether a
// change is being rolled out.
func (a availability) outcome(why, routes cause) outcome {
	o := outcome{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPodsNotReady, event: v1.EventNotReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonPodsNotReady, rollout: "No change is being rolled out.",
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonAsExpected,
		phase: v1.PhaseWarning, stalls: why.stalls(),
	}
	switch {
	case a.ready:
		o.ready, o.readyReason, o.event, o.phase = metav1.ConditionTrue, v1.ReasonAllPodsReady, v1.EventReady, v1.PhaseReady
		o.progressingReason, o.rollout = v1.ReasonRolledOut, "All changes are rolled out."
		if a.want == 0 {
			o.readyReason = v1.ReasonScaledToZero
		}
	case a.progressing:
		o.readyReason, o.event, o.phase = v1.ReasonRollingOut, v1.EventRolloutStarted, v1.PhaseUpdating
		o.progressing, o.progressingReason = metav1.ConditionTrue, v1.ReasonRollingOut
		o.rollout = fmt.Sprintf("A change is being rolled out: %d of %d pods are updated.", a.updated, a.want)
		if a.first {
			o.phase, o.rollout = v1.PhasePending, fmt.Sprintf("The pods are being created: %d of %d exist.", a.updated, a.want)
		}
	case a.overdue:
		o.readyReason, o.progressingReason = v1.ReasonProgressDeadlineExceeded, v1.ReasonProgressDeadlineExceeded
		o.rollout = fmt.Sprintf("There has been no progress for %.0f minutes.", objects.ProgressDeadline.Minutes())
	}
	if !a.ready && why != (cause{}) {
		o.readyReason, o.event = why.reason, v1.EventNotReady
	}
	if routes != (cause{}) || why.warning || why.lasting {
		o.phase = v1.PhaseWarning
	}
	switch { // an exceeded deadline takes precedence over a cause
	case a.isStuck():
		o.degraded, o.degradedReason = metav1.ConditionTrue, v1.ReasonProgressDeadlineExceeded
	case why.lasting:
		o.degraded, o.degradedReason = metav1.ConditionTrue, why.reason
	case routes != (cause{}):
		o.degraded, o.degradedReason = metav1.ConditionTrue, routes.reason
	}
	return o
}

// replicasOf returns the number of pods that a Deployment requests, or the API server's default.
func replicasOf(d *appsv1.Deployment) int32 {
	return *cmp.Or(d.Spec.Replicas, new(int32(1)))
}

// isReady reports whether the pods are as desired: the Deployment controller has seen the latest spec, and all are updated and available.
func isReady(d *appsv1.Deployment, want int32) bool {
	return d.DeletionTimestamp.IsZero() && d.Generation <= d.Status.ObservedGeneration &&
		d.Status.Replicas == want && d.Status.UpdatedReplicas == want && d.Status.AvailableReplicas == want
}

// rolling reports whether the Deployment controller still has work to do.
func rolling(d *appsv1.Deployment) bool {
	return !d.DeletionTimestamp.IsZero() || d.Generation > d.Status.ObservedGeneration || d.Status.Replicas != d.Status.UpdatedReplicas ||
		progressReason(d) != deploymentRolledOut
}

// deadlineExceeded reports whether the Deployment controller has given up waiting for the current rollout.
func deadlineExceeded(d *appsv1.Deployment) bool {
	return progressReason(d) == deploymentDeadlineExceeded && d.Generation <= d.Status.ObservedGeneration
}

// progressReason returns the reason of a Deployment's Progressing condition, or an empty string if there is no such condition.
func progressReason(d *appsv1.Deployment) string {
	return deploymentCondition(d, appsv1.DeploymentProgressing).Reason
}

// staysOverdue reports whether the previous status shows that the deadline was exceeded. The previous status is required, because
// missingSince restarts when the deadline passes and Progressing becomes False. The Echo stays overdue until the pods are ready or a
// rollout begins. Only the reason distinguishes this state from a failed reconcile, which also makes an Echo degraded.
func staysOverdue(status *v1.EchoStatus) bool {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	return degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == v1.ReasonProgressDeadlineExceeded.String()
}

// untilOverdue returns the time until an Echo can become overdue, or zero if the Echo cannot become overdue or already is. d may be nil.
func untilOverdue(status *v1.EchoStatus, d *appsv1.Deployment, now time.Time) time.Duration {
	since := missingSince(status, d)
	if since.IsZero() || staysOverdue(status) {
		return 0
	}
	return max(objects.ProgressDeadline-now.Sub(since), 0)
}

// missingSince returns the time at which pods last went missing or a rollout last began or ended, whichever is later. The time is zero if
// the Echo is ready. A rejected spec also makes an Echo not ready, so the Deployment, which may be nil, also determines when pods went
// missing: it allows no unavailable pods, so it is available only while it has all of its pods.
func missingSince(status *v1.EchoStatus, d *appsv1.Deployment) time.Time {
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	progressing := meta.FindStatusCondition(status.Conditions, v1.ConditionProgressing)
	if ready == nil || progressing == nil || ready.Status != metav1.ConditionFalse {
		return time.Time{}
	}
	times := []metav1.Time{ready.LastTransitionTime, progressing.LastTransitionTime}
	if c := deploymentCondition(d, appsv1.DeploymentAvailable); c.Status == corev1.ConditionFalse {
		times = append(times, c.LastTransitionTime)
	}
	return slices.MaxFunc(times, func(a, b metav1.Time) int { return a.Compare(b.Time) }).Time
}

// deploymentCondition returns a condition of a Deployment, or the zero value if there is none. The Deployment may be nil.
func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, condition := range cmp.Or(d, &appsv1.Deployment{}).Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return appsv1.DeploymentCondition{}
}

// IsRolloutStep reports whether an update of a Deployment changes only pod counts. An update is not a step if the pods become ready or stop
// being ready, a cause appears or disappears, or a client edits the Deployment.
func IsRolloutStep(before, after *appsv1.Deployment) bool {
	return before.Generation == after.Generation && !equality.Semantic.DeepEqual(before.Status, after.Status) &&
		isReady(before, replicasOf(before)) == isReady(after, replicasOf(after)) &&
		creationCause(before) == creationCause(after) && deadlineExceeded(before) == deadlineExceeded(after)
}
