package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestDeployment_spreadsEachRevision checks that a rollout's old pods do not affect where its new pods run. The API server rejects a key in
// matchLabelKeys that the selector also contains.
func TestDeployment_spreadsEachRevision(t *testing.T) {
	g := NewWithT(t)
	live := liveDeployment(t, support.Echo("ns", "x"))
	var keys []string
	for _, constraint := range live.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, constraint.TopologyKey)
		g.Expect(constraint.WhenUnsatisfiable).To(Equal(corev1.ScheduleAnyway))
		g.Expect(constraint.LabelSelector).To(Equal(live.Spec.Selector))
		g.Expect(constraint.MatchLabelKeys).To(HaveExactElements(appsv1.DefaultDeploymentUniqueLabelKey))
		g.Expect(constraint.LabelSelector.MatchLabels).NotTo(HaveKey(appsv1.DefaultDeploymentUniqueLabelKey))
	}
	g.Expect(keys).To(HaveExactElements(corev1.LabelHostname, corev1.LabelTopologyZone))
}

func TestDeployment_keepsGivenSpread(t *testing.T) {
	given := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway}}
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.TopologySpreadConstraints = given })
	NewWithT(t).Expect(liveDeployment(t, echo).Spec.Template.Spec.TopologySpreadConstraints).To(BeComparableTo(given))
}
