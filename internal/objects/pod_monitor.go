package objects

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const podMonitorKind = "PodMonitor"

// PodMonitor returns the child that makes Prometheus scrape metrics from an Echo's servers and companions. Its Desired field is nil if the
// Echo does not request monitoring. The scrape job has the name of the Echo.
func PodMonitor(echo *v1.Echo) Child {
	child := Child{Kind: podMonitorKind, Key: client.ObjectKeyFromObject(echo), NewObject: newPodMonitor}
	if !HasMonitoring(echo) {
		return child
	}
	child.Desired = NewPodMonitor()
	child.Desired.SetNamespace(echo.Namespace)
	child.Desired.SetName(echo.Name)
	setMetadata(child.Desired, echo, childLabels(echo), childOwnerReference(echo))
	child.Desired.Object["spec"] = map[string]any{
		"jobLabel": LabelInstance,
		"selector": map[string]any{
			"matchLabels": map[string]any{LabelInstance: echo.Name, LabelManagedBy: FieldOwner},
			"matchExpressions": []any{map[string]any{"key": LabelName, "operator": "In",
				"values": []any{nameValue, companionNameValue}}},
		},
		"podMetricsEndpoints": []any{map[string]any{"port": metricsPortName, "path": "/metrics"}},
	}
	return child
}

// HasMonitoring reports whether an Echo requests monitoring.
func HasMonitoring(echo *v1.Echo) bool {
	return echo.Spec.Monitoring != nil && isTrue(echo.Spec.Monitoring.Enabled)
}

// MonitoringGroupVersion returns the group and version of the Prometheus Operator's API:
// github.com/prometheus-operator/prometheus-operator.
func MonitoringGroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
}

// NewPodMonitor returns an empty PodMonitor. The object is unstructured, because there is no Go type for it.
func NewPodMonitor() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(MonitoringGroupVersion().WithKind(podMonitorKind))
	return object
}

func newPodMonitor() client.Object { return NewPodMonitor() }

// IsMonitoredAs reports whether a PodMonitor has the desired labels, annotations, and spec. It ignores additional fields, whether other
// clients added them or the API server set them as defaults. It does not ignore additional list items or additions to the selector, because
// a selector with an extra label selects nothing. It uses no schema, because the operator does not know the cluster's schema.
func IsMonitoredAs(live client.Object, want *unstructured.Unstructured) bool {
	have := live.(*unstructured.Unstructured)
	selector, _, _ := unstructured.NestedFieldNoCopy(have.Object, "spec", "selector")
	wantedSelector, _, _ := unstructured.NestedFieldNoCopy(want.Object, "spec", "selector")
	return hasAll(have.GetLabels(), want.GetLabels()) && hasAll(have.GetAnnotations(), want.GetAnnotations()) &&
		includes(have.Object["spec"], want.Object["spec"]) && reflect.DeepEqual(selector, wantedSelector)
}

// hasAll reports whether a map of labels or annotations includes all desired entries.
func hasAll(have, want map[string]string) bool { return maps.Equal(merged(have, want), have) }

// includes reports whether a JSON value includes everything in the desired value.
func includes(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := have.(map[string]any)
		for name, value := range want {
			ok = ok && includes(fields[name], value)
		}
		return ok
	case []any:
		items, ok := have.([]any)
		return ok && slices.EqualFunc(items, want, includes)
	default:
		return have == want
	}
}
