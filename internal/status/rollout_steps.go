package status

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// IsRolloutStep reports whether an update of a Deployment changes only pod counts. An update is not a step if the pods become ready or stop
// being ready, a cause appears or disappears, or a client edits the Deployment.
func IsRolloutStep(before, after *appsv1.Deployment) bool {
	if isReady(before, replicasOf(before)) != isReady(after, replicasOf(after)) ||
		pauseCause(before) != pauseCause(after) || creationCause(before) != creationCause(after) ||
		deadlineExceeded(before) != deadlineExceeded(after) {
		return false
	}
	return equality.Semantic.DeepEqual(withoutStatus(before), withoutStatus(after))
}

// withoutStatus returns a Deployment without the fields that the Deployment controller writes.
func withoutStatus(d *appsv1.Deployment) *appsv1.Deployment {
	d = d.DeepCopy()
	d.Status, d.ResourceVersion, d.ManagedFields = appsv1.DeploymentStatus{}, "", nil
	delete(d.Annotations, revisionAnnotation)
	if len(d.Annotations) == 0 {
		d.Annotations = nil
	}
	return d
}

// HasNewCause reports whether an update of a pod reveals a new reason why the pod is not ready. before is nil if the pod is new.
func HasNewCause(before, after *corev1.Pod) bool {
	now := podCause(after)
	return now != (cause{}) && (before == nil || podCause(before) != now)
}
