package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestIsRolloutStep(t *testing.T) {
	condition := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: status, Reason: reason, Message: message}}
		}
	}
	counts := func(updated, available int32) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Status.UpdatedReplicas, d.Status.AvailableReplicas = updated, available }
	}
	none := func(*appsv1.Deployment) {}
	for name, c := range map[string]struct {
		before, after func(*appsv1.Deployment)
		want          bool
	}{
		"counts":                {counts(0, 2), counts(1, 2), true},
		"ready":                 {counts(1, 2), counts(2, 2), false},
		"not ready anymore":     {counts(2, 2), counts(2, 1), false},
		"a revision":            {none, func(d *appsv1.Deployment) { d.Annotations = map[string]string{revisionAnnotation: "2"} }, true},
		"another annotation":    {none, func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, false},
		"a label":               {none, func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, false},
		"an edit":               {none, func(d *appsv1.Deployment) { d.Generation++ }, false},
		"a rollout is new":      {none, condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", ""), true},
		"the deadline":          {none, condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, deploymentDeadlineExceeded, ""), false},
		"pods are rejected":     {none, condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "no"), false},
		"another rejection":     {condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "no"), condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "never"), false},
		"pods are accepted":     {condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "no"), none, false},
		"the rollout is paused": {none, func(d *appsv1.Deployment) { d.Spec.Paused, d.Status.UpdatedReplicas = true, 1 }, false},
	} {
		made := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
			d := seenDeployment("", 2, 1, 2)
			d.Spec.Replicas = new(int32(2))
			change(d)
			return d
		}
		if got := IsRolloutStep(made(c.before), made(c.after)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestHasNewCause(t *testing.T) {
	waiting := func(reason string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "echo", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}}}}}
	}
	for name, c := range map[string]struct {
		before, after *corev1.Pod
		want          bool
	}{
		"starts":     {nil, waiting("ContainerCreating"), false},
		"new":        {nil, waiting("ImagePullBackOff"), true},
		"appears":    {waiting("ContainerCreating"), waiting("ImagePullBackOff"), true},
		"stays":      {waiting("ImagePullBackOff"), waiting("ImagePullBackOff"), false},
		"changes":    {waiting("ImagePullBackOff"), waiting("CreateContainerConfigError"), true},
		"goes away":  {waiting("ImagePullBackOff"), waiting("ContainerCreating"), false},
		"never came": {waiting("ContainerCreating"), waiting("PodInitializing"), false},
	} {
		if got := HasNewCause(c.before, c.after); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
