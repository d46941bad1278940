package controllers

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// progressDeadline is how long a rollout may stand still, and pods may be missing, before the Echo counts as degraded.
const progressDeadline = 10 * time.Minute

// deployment runs an Echo's pods. No old pod is stopped before a new one is ready, so that no request is lost.
func deployment(echo *v1.Echo, images Images) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(echo.Name, echo.Namespace).
		WithLabels(childLabels(echo)).
		WithOwnerReferences(ownedBy(echo)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(echo.Spec.Replicas).
			WithProgressDeadlineSeconds(int32(progressDeadline.Seconds())).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(echo))).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromString("25%")))).
			WithTemplate(podTemplate(echo, images)))
}
