package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
)

// What the Deployment controller writes into a Deployment: k8s.io/kubernetes/pkg/controller/deployment/util.
const (
	revisionAnnotation         = "deployment.kubernetes.io/revision"
	deploymentRolledOut        = "NewReplicaSetAvailable"
	deploymentDeadlineExceeded = "ProgressDeadlineExceeded"
)

// rollout is the state of the pods of a Deployment, compared with what is desired.
type rollout struct {
	want int32
	// updated and available count at most the desired pods.
	updated, available int32
	// ready is true if all pods are updated and available, and no others are left.
	ready bool
	// progressing is true while a change is being rolled out, and first is true if there was none before.
	progressing, first bool
	// overdue is true if there has been no progress for longer than the progress deadline.
	overdue bool
}

// rolloutOf returns the rollout of a Deployment that should have want pods, given the previous status of the Echo.
func rolloutOf(d *appsv1.Deployment, want int32, before *v1.EchoStatus, now time.Time) rollout {
	late := overdue(before, d, now)
	return rollout{
		want:        want,
		updated:     min(d.Status.UpdatedReplicas, want),
		available:   min(d.Status.AvailableReplicas, want),
		ready:       isReady(d, want),
		progressing: progressing(d, before, late),
		first:       firstRollout(d),
		overdue:     late,
	}
}

// String returns how many pods are ready, as a sentence.
func (r rollout) String() string { return fmt.Sprintf("%d of %d pods are ready.", r.available, r.want) }

// isReady reports whether the pods are as desired: the Deployment controller has seen the latest spec, and all pods are updated and
// available.
func isReady(d *appsv1.Deployment, want int32) bool {
	return d.DeletionTimestamp.IsZero() && d.Generation <= d.Status.ObservedGeneration &&
		d.Status.Replicas == want && d.Status.UpdatedReplicas == want && d.Status.AvailableReplicas == want
}

// progressing reports whether a change is being rolled out. The Deployment controller completes a rollout only once and does not
// begin another when the number of replicas changes, so scaling counts as a rollout until the pods are ready.
func progressing(d *appsv1.Deployment, before *v1.EchoStatus, late bool) bool {
	if rolling(d) {
		return !deadlineExceeded(d)
	}
	return meta.IsStatusConditionTrue(before.Conditions, v1.ConditionProgressing) && !late
}

// rolling reports whether the Deployment controller has work left.
func rolling(d *appsv1.Deployment) bool {
	if !d.DeletionTimestamp.IsZero() || d.Generation > d.Status.ObservedGeneration || d.Status.Replicas != d.Status.UpdatedReplicas {
		return true
	}
	condition := deploymentProgressing(d)
	return condition == nil || condition.Reason != deploymentRolledOut
}

// firstRollout reports whether a Deployment has never had all its pods.
func firstRollout(d *appsv1.Deployment) bool {
	if revision := d.Annotations[revisionAnnotation]; revision != "" && revision != "1" {
		return false
	}
	condition := deploymentProgressing(d)
	return condition == nil || condition.Reason != deploymentRolledOut
}

// overdue reports whether pods have been missing for longer than the progress deadline. During a rollout the Deployment controller
// decides that; afterwards it does not, and the operator does.
func overdue(status *v1.EchoStatus, d *appsv1.Deployment, now time.Time) bool {
	if rolling(d) {
		return deadlineExceeded(d)
	}
	since := missingSince(status)
	return staysOverdue(status) || !since.IsZero() && now.Sub(since) >= desired.ProgressDeadline
}

// staysOverdue reports whether the previous status says that the deadline was exceeded. That lasts until the pods are ready or a
// rollout begins: Progressing becomes False when the deadline passes, so that missingSince starts again. Only the reason distinguishes it
// from a failed reconcile, which also makes an Echo degraded.
func staysOverdue(status *v1.EchoStatus) bool {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	return degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == v1.ReasonProgressDeadlineExceeded.String()
}

// untilOverdue returns how long it takes until an Echo may be overdue, and zero when nothing depends on that.
func untilOverdue(status *v1.EchoStatus, now time.Time) time.Duration {
	since := missingSince(status)
	if since.IsZero() || staysOverdue(status) {
		return 0
	}
	return max(desired.ProgressDeadline-now.Sub(since), 0)
}

// missingSince returns when pods were last seen to go missing or a change to begin, and the zero time if the Echo is ready.
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
