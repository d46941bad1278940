package desired

import (
	"testing"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestDisruptionBudget(t *testing.T) {
	budget := func(maxUnavailable int32) *policyv1.PodDisruptionBudgetSpec {
		return &policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(maxUnavailable)),
			Selector:                   &metav1.LabelSelector{MatchLabels: children.SelectorLabels(support.Echo("ns", "x"))},
			UnhealthyPodEvictionPolicy: new(policyv1.AlwaysAllow),
		}
	}
	for name, c := range map[string]struct {
		wanted v1.EchoDisruptionBudget
		want   *policyv1.PodDisruptionBudgetSpec
	}{
		"not configured":        {v1.EchoDisruptionBudget{}, budget(1)},
		"enabled":               {v1.EchoDisruptionBudget{Enabled: new(true)}, budget(1)},
		"more":                  {v1.EchoDisruptionBudget{MaxUnavailable: new(int32(3))}, budget(3)},
		"none":                  {v1.EchoDisruptionBudget{Enabled: new(true), MaxUnavailable: new(int32(0))}, budget(0)},
		"disabled":              {v1.EchoDisruptionBudget{Enabled: new(false)}, nil},
		"disabled with a value": {v1.EchoDisruptionBudget{Enabled: new(false), MaxUnavailable: new(int32(3))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got *policyv1.PodDisruptionBudgetSpec
			echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.DisruptionBudget = c.wanted })
			if live := liveChild[policyv1.PodDisruptionBudget](t, echo, testConfig); live != nil {
				got = &live.Spec
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}
