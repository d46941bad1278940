package support

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RollOut gives a Deployment the status that the Deployment controller gives it when all its pods are available. A test
// control plane runs no controllers, so tests play them.
func RollOut(ctx context.Context, c client.Client, d *appsv1.Deployment) error {
	return SetDeploymentStatus(ctx, c, d, *d.Spec.Replicas, "NewReplicaSetAvailable")
}

// SetDeploymentStatus gives a Deployment a status in which all its pods exist and some are available. reason is that of its
// Progressing condition.
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
