package objects

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// ProgressDeadline is how long a rollout may go without progress, or pods may be missing, before the Echo becomes degraded.
const ProgressDeadline = 10 * time.Minute

// deployment returns the Deployment that runs an Echo's pods. Old pods stop only after new ones are ready, so that no requests are lost.
func deployment(echo *v1.Echo, config Config) any {
	return appsv1ac.Deployment(echo.Name, echo.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(echo.Spec.DesiredReplicas()).
			WithProgressDeadlineSeconds(int32(ProgressDeadline.Seconds())).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(echo))).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromString("25%")))).
			WithTemplate(PodTemplate(echo, config)))
}
