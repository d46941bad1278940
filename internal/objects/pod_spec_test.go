package objects

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestPodSpec_noCredentialsButTimeToDrain(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server":       liveDeployment(t, support.Echo("ns", "x")).Spec.Template.Spec,
		"one with an identity": liveDeployment(t, support.Echo("ns", "x", support.EveryField)).Spec.Template.Spec,
		"a companion":          liveCompanion(t, support.PodWithCompanionLabel(), support.EchoOfCompanions()).Spec,
	} {
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s has a token of the API server", name)
		}
		if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
			t.Errorf("%s shows the Services of its namespace to every client that sends a request", name)
		}
		if spec.TerminationGracePeriodSeconds == nil || *spec.TerminationGracePeriodSeconds < 5+20 {
			t.Errorf("%s is killed after %v s, before it has drained its connections", name, spec.TerminationGracePeriodSeconds)
		}
	}
}

// TestCompanion_differsOnlyInPlacement compares an Echo's pods with its companions. They must differ only in where they run, and in the
// variables that name a Service or an Ingress, because companions have neither.
func TestCompanion_differsOnlyInPlacement(t *testing.T) {
	differ := []string{"Affinity", "NodeSelector", "PriorityClassName", "Tolerations", "TopologySpreadConstraints"}
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		fields []string // the fields that are expected to differ
	}{
		"minimal": {func(*v1.Echo) {}, []string{"Affinity", "Tolerations", "TopologySpreadConstraints"}},
		// the same toleration
		"everything": {support.EveryField, []string{"Affinity", "NodeSelector", "PriorityClassName", "TopologySpreadConstraints"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := support.EchoOfCompanions(c.change)
			own, companion := liveDeployment(t, echo).Spec.Template.Spec, liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec
			own.Containers[0].Env = slices.DeleteFunc(own.Containers[0].Env, func(e corev1.EnvVar) bool {
				return e.Name == "SERVICE_NAME" || e.Name == "INGRESS_NAME"
			})
			var got []string
			for _, field := range differ {
				a, b := reflect.ValueOf(&own).Elem().FieldByName(field), reflect.ValueOf(&companion).Elem().FieldByName(field)
				if !cmp.Equal(a.Interface(), b.Interface()) {
					got = append(got, field)
				}
				a.SetZero()
				b.SetZero()
			}
			g.Expect(got).To(BeComparableTo(c.fields), "where they run")
			g.Expect(companion).To(BeComparableTo(own), "what they run")
		})
	}
}

func TestTemplate_copiesSchedulingFields(t *testing.T) {
	spec := liveDeployment(t, support.Echo("ns", "x", support.EveryField)).Spec.Template.Spec
	desired := support.Echo("ns", "x", support.EveryField).Spec
	got := corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations, Affinity: spec.Affinity,
		TopologySpreadConstraints: spec.TopologySpreadConstraints, PriorityClassName: spec.PriorityClassName}
	want := corev1.PodSpec{NodeSelector: AsLabels(desired.NodeSelector), Tolerations: desired.Tolerations, Affinity: desired.Affinity,
		TopologySpreadConstraints: desired.TopologySpreadConstraints, PriorityClassName: desired.PriorityClassName}
	NewWithT(t).Expect(got).To(BeComparableTo(want))
}

func TestSpread_defaultsToNodesAndZones(t *testing.T) {
	var want []corev1.TopologySpreadConstraint
	for _, key := range []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"} {
		want = append(want, corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: SelectorLabels(support.Echo("ns", "x"))}})
	}
	spec := liveDeployment(t, support.Echo("ns", "x")).Spec.Template.Spec
	NewWithT(t).Expect(spec.TopologySpreadConstraints).To(BeComparableTo(want))
	if spec.Affinity != nil || spec.Tolerations != nil || spec.PriorityClassName != "" {
		t.Errorf("an Echo without scheduling fields is scheduled by %+v", spec)
	}
}

// TestNodeSelector_ownImages checks that pods with the operator's own images run on Linux nodes, unless the Echo selects another operating
// system.
func TestNodeSelector_ownImages(t *testing.T) {
	const system = "kubernetes.io/os"
	linux, labels := map[string]string{system: "linux"}, map[string]string{"a": "b"}
	both, other := map[string]string{"a": "b", system: "linux"}, map[string]string{system: "plan9"}
	given := v1.Labels{"a": "b"}
	for name, c := range map[string]struct {
		image          string
		given          v1.Labels
		pod, companion map[string]string
		podOfCheck     map[string]string
	}{
		"own":                 {"", nil, linux, linux, linux},
		"own, labels":         {"", given, both, linux, both},
		"own, another system": {"", v1.Labels{system: "plan9"}, other, linux, other},
		"another":             {"other:1", nil, nil, nil, linux},
		"another, labels":     {"other:1", given, labels, nil, both},
	} {
		g := NewWithT(t)
		echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.Image, e.Spec.NodeSelector = c.image, c.given })
		g.Expect(liveDeployment(t, echo).Spec.Template.Spec.NodeSelector).To(Equal(c.pod), name)
		g.Expect(liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec.NodeSelector).To(Equal(c.companion), name)
		withCheck := checked()
		withCheck.Spec.Image, withCheck.Spec.NodeSelector = c.image, c.given
		g.Expect(podOf(cronJob(t, withCheck)).NodeSelector).To(Equal(c.podOfCheck), name)
	}
}

func TestTolerations_keepAllFields(t *testing.T) {
	given := []corev1.Toleration{
		{Key: "a", Operator: corev1.TolerationOpEqual, Value: "b", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0))},
		{Operator: corev1.TolerationOpExists},
	}
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Tolerations = given })
	NewWithT(t).Expect(liveDeployment(t, echo).Spec.Template.Spec.Tolerations).To(BeComparableTo(given))
}

func TestSetIdentity_keepsOrderOfImagePullSecrets(t *testing.T) {
	echo := support.EchoOfCompanions(func(e *v1.Echo) { e.Spec.ImagePullSecrets = []v1.ImagePullSecret{{Name: "b"}, {Name: "a"}} })
	want := []corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}} // the kubelet tries the pull secrets in this order
	for name, spec := range map[string]corev1.PodSpec{
		"an echo server": liveDeployment(t, echo).Spec.Template.Spec, "a companion": liveCompanion(t, support.PodWithCompanionLabel(), echo).Spec,
	} {
		NewWithT(t).Expect(spec.ImagePullSecrets).To(BeComparableTo(want), name)
	}
}
