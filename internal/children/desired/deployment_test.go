package desired

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/tests/support"
)

func liveDeployment(t *testing.T, echo *v1.Echo) *appsv1.Deployment {
	t.Helper()
	return liveChild[appsv1.Deployment](t, echo, testConfig)
}

// liveCompanion returns the companion of a pod as the API server would return it.
func liveCompanion(t *testing.T, owner *corev1.Pod, echo *v1.Echo) corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	companion, err := echopod.Companion(owner, echo, testConfig)
	g.Expect(err).NotTo(HaveOccurred())
	pod := corev1.Pod{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(companion.Desired.Object, &pod)).To(Succeed())
	return pod
}

func TestDeployment_keepsOldPodsUntilNewReady(t *testing.T) {
	spec := liveDeployment(t, support.Echo("ns", "x")).Spec
	want := appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("25%"))},
	}
	NewWithT(t).Expect(spec.Strategy).To(BeComparableTo(want))
	if spec.ProgressDeadlineSeconds == nil || *spec.ProgressDeadlineSeconds != 600 {
		t.Errorf("the progress deadline is %v s, want 600: the status mentions 10 minutes", spec.ProgressDeadlineSeconds)
	}
}

func TestDeployment_setsReplicas(t *testing.T) {
	for _, replicas := range []int32{0, 1, 20} {
		d := liveDeployment(t, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = &replicas }))
		// The API server sets an unset field to 1.
		if d.Spec.Replicas == nil || *d.Spec.Replicas != replicas {
			t.Errorf("%d replicas: the Deployment has %v", replicas, d.Spec.Replicas)
		}
	}
}

// TestDeployment_selectorNeverChanges compares the Deployment selectors of two Echoes that differ in all fields. The API server rejects
// changes to a selector.
func TestDeployment_selectorNeverChanges(t *testing.T) {
	g := NewWithT(t)
	minimal, full := liveDeployment(t, support.Echo("ns", "x")), liveDeployment(t, support.Echo("ns", "x", support.EveryField))
	g.Expect(full.Spec.Selector).To(BeComparableTo(minimal.Spec.Selector))
	want := map[string]string{"app.kubernetes.io/name": "echo", "app.kubernetes.io/instance": "x"}
	g.Expect(minimal.Spec.Selector.MatchLabels).To(BeComparableTo(want), "another version of the operator could not update the Deployment")
}

func TestDeployment_labelsAndAnnotatesPods(t *testing.T) {
	operators := map[string]string{
		"app.kubernetes.io/name": "echo", "app.kubernetes.io/instance": "x",
		"app.kubernetes.io/component": "echo-server", "app.kubernetes.io/managed-by": "echo-operator",
	}
	with := func(key, value string) map[string]string {
		labels := map[string]string{key: value}
		maps.Copy(labels, operators)
		return labels
	}
	for name, c := range map[string]struct {
		change              func(*v1.Echo)
		labels, annotations map[string]string
	}{
		"none are given":         {func(*v1.Echo) {}, operators, nil},
		"labels are given":       {func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{"team": "a"} }, with("team", "a"), nil},
		"the operator's are set": {func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{children.LabelInstance: "y"} }, operators, nil}, // the schema rejects it
		"annotations are given":  {func(e *v1.Echo) { e.Spec.PodAnnotations = map[string]string{"a": "b"} }, operators, map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			template := liveDeployment(t, support.Echo("ns", "x", c.change)).Spec.Template
			g.Expect(template.Labels).To(BeComparableTo(c.labels))
			g.Expect(template.Annotations).To(BeComparableTo(c.annotations))
		})
	}
}
