package controllers

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// disruptionBudget bounds how many of an Echo's pods may be evicted at once; nil if that is not wanted.
func disruptionBudget(echo *v1.Echo) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	wanted := echo.Spec.DisruptionBudget
	if wanted.Enabled != nil && !*wanted.Enabled {
		return nil
	}
	most := int32(1)
	if wanted.MaxUnavailable != nil {
		most = *wanted.MaxUnavailable
	}
	return policyv1ac.PodDisruptionBudget(echo.Name, echo.Namespace).
		WithLabels(childLabels(echo)).
		WithOwnerReferences(ownedBy(echo)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(most)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(echo))).
			// A pod that does not answer anyway must not hold a node up.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
