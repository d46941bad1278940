package objects

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func monitored(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} }

func TestIsMonitoredAs(t *testing.T) {
	want := PodMonitor(support.Echo("ns", "x", monitored)).Desired
	spec := func(o *unstructured.Unstructured) map[string]any { return o.Object["spec"].(map[string]any) }
	endpoint := func(o *unstructured.Unstructured) map[string]any {
		return spec(o)["podMetricsEndpoints"].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"nothing":                   {func(*unstructured.Unstructured) {}, true},
		"a default":                 {func(o *unstructured.Unstructured) { endpoint(o)["filterRunning"] = true }, true},
		"a field of another client": {func(o *unstructured.Unstructured) { spec(o)["sampleLimit"] = int64(5) }, true},
		"a label of another client": {func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"team": "a"})
			all := o.GetLabels()
			maps.Copy(all, want.GetLabels())
			o.SetLabels(all)
		}, true},
		"another port": {func(o *unstructured.Unstructured) { endpoint(o)["port"] = "http" }, false},
		"a second endpoint": {func(o *unstructured.Unstructured) {
			spec(o)["podMetricsEndpoints"] = []any{endpoint(o), map[string]any{"port": "http"}}
		}, false},
		"no endpoint": {func(o *unstructured.Unstructured) { spec(o)["podMetricsEndpoints"] = []any{} }, false},
		"a selector with more labels": {func(o *unstructured.Unstructured) {
			spec(o)["selector"].(map[string]any)["matchLabels"].(map[string]any)["team"] = "a"
		}, false},
		"no selector": {func(o *unstructured.Unstructured) { delete(spec(o), "selector") }, false},
		"a missing label": {func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{LabelManagedBy: FieldOwner})
		}, false},
		"no spec, no metadata": {func(o *unstructured.Unstructured) { o.Object = map[string]any{} }, false},
	} {
		live := want.DeepCopy()
		c.change(live)
		NewWithT(t).Expect(IsMonitoredAs(live, want)).To(Equal(c.same), name)
	}
}
