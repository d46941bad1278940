package objects

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func monitored(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} }

func TestPodMonitor_existsOnlyIfEnabled(t *testing.T) {
	for name, change := range map[string]func(*v1.Echo){
		"nothing is said": func(*v1.Echo) {},
		"it is disabled":  func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{} },
	} {
		NewWithT(t).Expect(PodMonitor(support.Echo("ns", "x", change)).Desired).To(BeNil(), name)
	}
	if want := PodMonitor(support.Echo("ns", "x", monitored)).Desired; want == nil || !metav1.IsControlledBy(want, support.Echo("ns", "x")) ||
		!IsManaged(want) {
		t.Errorf("the PodMonitor is %v", want)
	}
}

// TestPodMonitor_selectsOnlyPodsOfEcho checks that a PodMonitor selects only the echo servers and the companions of its Echo.
func TestPodMonitor_selectsOnlyPodsOfEcho(t *testing.T) {
	g := NewWithT(t)
	echo, neighbor := support.Echo("ns", "x", monitored), support.Echo("ns", "y")
	content, _, _ := unstructured.NestedMap(PodMonitor(echo).Desired.Object, "spec", "selector")
	selector := &metav1.LabelSelector{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector)).To(Succeed())
	selects, err := metav1.LabelSelectorAsSelector(selector)
	g.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		labels map[string]string
		want   bool
	}{
		"an echo server":                 {childLabels(echo), true},
		"a companion":                    {companionLabels(echo), true},
		"an echo server of another Echo": {childLabels(neighbor), false},
		"a companion elsewhere":          {companionLabels(neighbor), false},
		"a pod of another client":        {map[string]string{LabelInstance: "x", LabelName: "shop"}, false},
	} {
		g.Expect(selects.Matches(labels.Set(c.labels))).To(Equal(c.want), name)
	}
}

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
			addLabels(o, want.GetLabels())
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

func addLabels(o *unstructured.Unstructured, more map[string]string) {
	all := o.GetLabels()
	maps.Copy(all, more)
	o.SetLabels(all)
}
