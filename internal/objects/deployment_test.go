package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func liveDeployment(t *testing.T, echo *v1.Echo) *appsv1.Deployment {
	t.Helper()
	return liveChild[appsv1.Deployment](t, echo, testConfig)
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

// TestDeployment_keepsOwnLabelsOfPods checks a label that the schema rejects.
func TestDeployment_keepsOwnLabelsOfPods(t *testing.T) {
	d := liveDeployment(t, support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.PodLabels = v1.Labels{LabelInstance: "y"} }))
	NewWithT(t).Expect(d.Spec.Template.Labels).To(HaveKeyWithValue(LabelInstance, "x"))
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
