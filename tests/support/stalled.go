package support

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// StalledProblem describes what is wrong with an Echo's Stalled condition, or returns "" if nothing is. An Echo is stalled only if it is
// degraded and not ready. The condition then contains why the Echo is not ready. An Echo whose name is taken is stalled at once.
func StalledProblem(object *unstructured.Unstructured) string {
	echo := v1.Echo{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &echo); err != nil {
		return err.Error()
	}
	conditions := echo.Status.Conditions
	stalled, ready := meta.FindStatusCondition(conditions, v1.ConditionStalled), meta.FindStatusCondition(conditions, v1.ConditionReady)
	switch {
	case stalled == nil && ready != nil && ready.Reason == v1.ReasonNameConflict.String():
		return "an Echo whose name is taken is not stalled"
	case stalled == nil:
		return ""
	case stalled.Status != metav1.ConditionTrue || ready == nil || ready.Status == metav1.ConditionTrue || stalled.Reason != ready.Reason ||
		stalled.ObservedGeneration != ready.ObservedGeneration || !meta.IsStatusConditionTrue(conditions, v1.ConditionDegraded):
		return fmt.Sprintf("Stalled contradicts the other conditions: %+v", conditions)
	}
	return ""
}
