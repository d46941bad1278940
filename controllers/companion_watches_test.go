package controllers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		got := ownerChanged().Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: ownerPod(), ObjectNew: ownerPod(c.change)})
		if got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestCompanionChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"another version":    {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"an address":         {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"failed":             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"a label":            {func(p *corev1.Pod) { p.Labels["x"] = "y" }, true},
		"an annotation":      {func(p *corev1.Pod) { p.Annotations = map[string]string{"x": "y"} }, true},
		"its deletion began": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"a readiness condition": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}
		}, true},
	} {
		if got := companionChanged().Update(event.UpdateEvent{ObjectOld: ownerPod(), ObjectNew: ownerPod(c.change)}); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestACompanionThatLosesItsOwnerIsNoticed(t *testing.T) {
	orphaned := companionPod(t)
	orphaned.OwnerReferences = nil
	if !companionChanged().Update(event.UpdateEvent{ObjectOld: companionPod(t), ObjectNew: orphaned}) {
		t.Error("nobody is told")
	}
}

func TestSchedulabilityChanged(t *testing.T) {
	node := func(unschedulable bool, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Message: message}}}}
	}
	for name, c := range map[string]struct {
		before, after *corev1.Node
		want          bool
	}{
		"a heartbeat": {node(false, "a"), node(false, "b"), false},
		"cordoned":    {node(false, "a"), node(true, "a"), true},
		"uncordoned":  {node(true, "a"), node(false, "a"), true},
	} {
		if got := schedulabilityChanged().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestRequestForOwner(t *testing.T) {
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web-0"}}}
	if diff := cmp.Diff(want, requestForOwner(context.Background(), companionPod(t))); diff != "" {
		t.Error(diff)
	}
	if got := requestForOwner(context.Background(), ownerPod()); got != nil {
		t.Errorf("a pod that is no companion has the owners %v", got)
	}
}
