package objects

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/echo-operator/echo-operator/tests/support"
)

func TestIsEchoPod(t *testing.T) {
	g := NewWithT(t)
	for kind, want := range map[string]bool{"ReplicaSet": true, "Job": false, "Pod": false} {
		pod := &corev1.Pod{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Controller: new(true)}}}
		g.Expect(IsEchoPod(pod)).To(Equal(want), "a pod of a %s", kind)
	}
	g.Expect(IsEchoPod(&corev1.Pod{})).To(BeFalse(), "a pod without an owner is mistaken for an echo pod")
}

func TestSplitPods(t *testing.T) {
	echo := support.EchoOfCompanions()
	pod := func(name, owner string, labels map[string]string) corev1.Pod {
		return corev1.Pod{Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "o", UID: "o", Controller: new(true)}}}
	}
	relabel := func(key string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels[key] = "other" }
	}
	unnamed, strange := ChildLabels(echo), ChildLabels(echo)
	unnamed[LabelName], strange[LabelComponent] = "other", "other"
	companion := companionFor(t, support.PodWithCompanionLabel(), echo)
	ownAndOthers := []corev1.Pod{
		pod("b", "ReplicaSet", ChildLabels(echo)), pod("copied", "Job", ChildLabels(echo)), companion,
		pod("disguised", "Pod", CompanionLabels(echo)), pod("a", "ReplicaSet", ChildLabels(echo)),
		pod("mixed", "ReplicaSet", CompanionLabels(echo)), pod("unnamed", "ReplicaSet", unnamed), pod("strange", "ReplicaSet", strange),
		companionFor(t, support.PodWithCompanionLabel(), echo, relabel(LabelName)),
		companionFor(t, support.PodWithCompanionLabel(), echo, relabel(LabelComponent)),
		companionFor(t, support.PodWithCompanionLabel(), echo, func(p *corev1.Pod) { p.Labels = ChildLabels(echo) }),
	}
	own, companions := SplitPods(ownAndOthers)
	if len(own) != 2 || own[0].Name != "b" || own[1].Name != "a" || len(companions) != 1 ||
		companions[0].Labels[LabelName] != CompanionNameValue {
		t.Errorf("got %v and %v", own, companions)
	}
	if own, companions := SplitPods(nil); own == nil || companions == nil {
		t.Errorf("no pods must be empty lists, which differ from unknown ones: %v, %v", own, companions)
	}
}

func TestHasEnded(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodPending: false, corev1.PodRunning: false, corev1.PodUnknown: false, corev1.PodSucceeded: true, corev1.PodFailed: true,
	} {
		NewWithT(t).Expect(HasEnded(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}})).To(Equal(want), "%s", phase)
	}
}
