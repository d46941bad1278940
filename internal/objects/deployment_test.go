package objects

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
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
	companion, err := Companion(LabeledPodOf(owner), echo, testConfig)
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
		"the operator's are set": {func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{LabelInstance: "y"} }, operators, nil}, // the schema rejects it
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

func TestDisruptionBudget(t *testing.T) {
	budget := func(maxUnavailable int32) *policyv1.PodDisruptionBudgetSpec {
		return &policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(maxUnavailable)),
			Selector:                   &metav1.LabelSelector{MatchLabels: SelectorLabels(support.Echo("ns", "x"))},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		}
	}
	for name, c := range map[string]struct {
		replicas *int32
		given    v1.EchoDisruptionBudget
		want     *policyv1.PodDisruptionBudgetSpec
	}{
		"not configured":             {new(int32(2)), v1.EchoDisruptionBudget{}, budget(1)},
		"enabled":                    {new(int32(2)), v1.EchoDisruptionBudget{Enabled: new(true)}, budget(1)},
		"more":                       {new(int32(4)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, budget(3)},
		"as many as replicas":        {new(int32(3)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, nil},
		"more than replicas":         {new(int32(2)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, nil},
		"replicas not given":         {nil, v1.EchoDisruptionBudget{}, nil},
		"one replica":                {new(int32(1)), v1.EchoDisruptionBudget{}, nil},
		"one replica to be kept":     {new(int32(1)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(0))}, budget(0)},
		"no replica":                 {new(int32(0)), v1.EchoDisruptionBudget{}, nil},
		"no replica, no unavailable": {new(int32(0)), v1.EchoDisruptionBudget{MaxUnavailable: new(int32(0))}, nil},
		"none":                       {new(int32(2)), v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(0))}, budget(0)},
		"disabled":                   {new(int32(9)), v1.EchoDisruptionBudget{Enabled: new(false)}, nil},
		"disabled with a value":      {new(int32(9)), v1.EchoDisruptionBudget{Enabled: new(false), MaxUnavailable: new(int32(3))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got *policyv1.PodDisruptionBudgetSpec
			echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas, e.Spec.DisruptionBudget = c.replicas, c.given })
			if live := liveChild[policyv1.PodDisruptionBudget](t, echo, testConfig); live != nil {
				got = &live.Spec
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}
