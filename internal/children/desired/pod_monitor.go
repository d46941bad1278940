package desired

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

const podMonitorKind = "PodMonitor"

// MonitoringGroupVersion returns the Prometheus Operator's API: github.com/prometheus-operator/prometheus-operator.
func MonitoringGroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}
}

// NewPodMonitor returns an empty PodMonitor. It has no Go type.
func NewPodMonitor() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(MonitoringGroupVersion().WithKind(podMonitorKind))
	return object
}

func newPodMonitor() client.Object { return NewPodMonitor() }

// HasMonitoring reports whether an Echo requests monitoring.
func HasMonitoring(echo *v1.Echo) bool {
	return echo.Spec.Monitoring != nil && echo.Spec.Monitoring.Enabled
}

// PodMonitor returns the child that makes Prometheus scrape the metrics of an Echo's servers and companions. Desired is nil if the Echo
// does not request it. Each job is named after its Echo.
func PodMonitor(echo *v1.Echo) children.Child {
	child := children.Child{Kind: podMonitorKind, Key: client.ObjectKeyFromObject(echo), NewObject: newPodMonitor}
	if !HasMonitoring(echo) {
		return child
	}
	child.Desired = NewPodMonitor()
	child.Desired.SetNamespace(echo.Namespace)
	child.Desired.SetName(echo.Name)
	children.SetMetadata(child.Desired, echo, children.ChildLabels(echo), children.ChildOwnerReference(echo))
	child.Desired.Object["spec"] = map[string]any{
		"jobLabel": children.LabelInstance,
		"selector": map[string]any{
			"matchLabels": map[string]any{children.LabelInstance: echo.Name},
			"matchExpressions": []any{map[string]any{"key": children.LabelName, "operator": "In",
				"values": []any{children.NameValue, children.CompanionNameValue}}},
		},
		"podMetricsEndpoints": []any{map[string]any{"port": children.MetricsPortName, "path": "/metrics"}},
	}
	return child
}

// IsMonitoredAs reports whether a PodMonitor has the desired labels, annotations and spec. Added fields do not count, whether they come
// from other clients or are defaults of the API server. Added list items do count. So do additions to the selector, because it would select
// nothing with an extra label. The rest of the schema is not known, because it depends on the cluster.
func IsMonitoredAs(live client.Object, want *unstructured.Unstructured) bool {
	have, ok := live.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	selector, _, _ := unstructured.NestedFieldNoCopy(have.Object, "spec", "selector")
	wantedSelector, _, _ := unstructured.NestedFieldNoCopy(want.Object, "spec", "selector")
	return hasAll(have.GetLabels(), want.GetLabels()) && hasAll(have.GetAnnotations(), want.GetAnnotations()) &&
		includes(have.Object["spec"], want.Object["spec"]) && reflect.DeepEqual(selector, wantedSelector)
}

// hasAll reports whether labels or annotations include all desired ones.
func hasAll(have, want map[string]string) bool {
	for key, value := range want {
		if found, ok := have[key]; !ok || found != value {
			return false
		}
	}
	return true
}

// includes reports whether a JSON value includes the desired one.
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
		ok = ok && len(items) == len(want)
		for i := range want {
			ok = ok && includes(items[i], want[i])
		}
		return ok
	default:
		return have == want
	}
}
