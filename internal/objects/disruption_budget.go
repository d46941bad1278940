package objects

import (
	"cmp"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// disruptionBudget returns the PodDisruptionBudget for an Echo's pods. It returns nil if the budget is disabled or would always allow evictions.
func disruptionBudget(echo *v1.Echo, _ Config) any {
	desired := echo.Spec.DisruptionBudget
	if desired.Enabled != nil && !*desired.Enabled {
		return nil
	}
	maxUnavailable := *cmp.Or(desired.MaxUnavailable, new(int32(1)))
	if echo.Spec.DesiredReplicas() <= maxUnavailable {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(echo.Name, echo.Namespace).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(maxUnavailable)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(SelectorLabels(echo))).
			// Pods that are not ready must not block a node drain.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
