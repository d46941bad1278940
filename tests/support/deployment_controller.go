package support

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RollOut sets the status that a Deployment has after a completed rollout. The test control plane has no controllers, so tests must set it.
func RollOut(ctx context.Context, c client.Client, d *appsv1.Deployment) error {
	return SetDeploymentStatus(ctx, c, d, *d.Spec.Replicas, "NewReplicaSetAvailable")
}

// SetDeploymentStatus sets the status that a Deployment has if all of its pods exist and the given number of pods is available. The reason
// argument is the reason of the Progressing condition.
func SetDeploymentStatus(ctx context.Context, c client.Client, d *appsv1.Deployment, available int32, reason string) error {
	before := d.DeepCopy()
	progressing := corev1.ConditionTrue
	if reason == "ProgressDeadlineExceeded" {
		progressing = corev1.ConditionFalse
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration:  d.Generation,
		Replicas:            *d.Spec.Replicas,
		UpdatedReplicas:     *d.Spec.Replicas,
		ReadyReplicas:       available,
		AvailableReplicas:   available,
		UnavailableReplicas: *d.Spec.Replicas - available,
		Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentProgressing, Status: progressing, Reason: reason,
		}},
	}
	return c.Status().Patch(ctx, d, client.MergeFrom(before))
}
