package controllers

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestOwnerChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"another version": {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"scheduled":       {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, true},
		"finished":        {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"deleted":         {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"another Echo":    {func(p *corev1.Pod) { p.Labels = map[string]string{"echoes.example.com/companion": "y"} }, true},
	} {
		got := cachedFieldChanged().Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: OwnerPod(),
			ObjectNew: OwnerPod(c.change)})
		NewWithT(t).Expect(got).To(Equal(c.want), name)
	}
}

func TestCompanionChanged(t *testing.T) {
	orphaned := CompanionPod(t)
	orphaned.OwnerReferences = nil
	Updates{
		"another version": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.ResourceVersion = "2" }), false},
		"an address":      {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), false},
		"failed":          {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		"a label":         {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Labels["x"] = "y" }), true},
		"an annotation": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.Annotations = map[string]string{"x": "y"} }),
			true},
		"its deletion began": {OwnerPod(), OwnerPod(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }),
			true},
		"a readiness condition": {OwnerPod(), OwnerPod(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}
		}), true},
		"its owner is removed": {CompanionPod(t), orphaned, true},
	}.Check(t, companionChanged())
}

func TestSchedulabilityChanged(t *testing.T) {
	node := func(unschedulable bool, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Message: message}}}}
	}
	Updates{
		"a heartbeat": {node(false, "a"), node(false, "b"), false},
		"cordoned":    {node(false, "a"), node(true, "a"), true},
		"uncordoned":  {node(true, "a"), node(false, "a"), true},
	}.Check(t, schedulabilityChanged())
}

func TestRequestForOwner(t *testing.T) {
	g := NewWithT(t)
	want := []reconcile.Request{{Namespace: "ns", Name: "web-0"}}
	g.Expect(podOfCompanion(context.Background(), CompanionPod(t))).To(BeComparableTo(want))
	g.Expect(podOfCompanion(context.Background(), OwnerPod())).To(BeNil())
}
