package controllers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func labelsOf(pod corev1.Pod) labels.Set { return pod.Labels }

func slimmed(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	slim, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	return slim.(*corev1.Pod)
}

func TestSlimPodDecidesLikeThePod(t *testing.T) {
	fat := asking(func(p *corev1.Pod) {
		p.Annotations = map[string]string{"a": "b"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		p.Spec.Containers = []corev1.Container{{Name: "c"}}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}
	})
	slim := slimmed(t, fat)
	if slim.Annotations != nil || slim.ManagedFields != nil || slim.Spec.Containers != nil || slim.Status.PodIP != "" || len(slim.Labels) != 1 {
		t.Errorf("the cache holds %+v", slim)
	}
	before, after := companionFor(t, fat, companionEcho()), companionFor(t, slim, companionEcho())
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	going := asking(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{}; p.Status.Phase = corev1.PodFailed })
	if slim := slimmed(t, going); slim.DeletionTimestamp == nil || !hasEnded(slim) {
		t.Error("the cache does not tell that a pod goes")
	}
	made := companionFor(t, asking(), companionEcho())
	if !isCompanion(slimmed(t, &made)) {
		t.Error("the cache does not tell a companion from other pods")
	}
}

func TestOwnerTurned(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing that decides": {func(p *corev1.Pod) { p.ResourceVersion, p.Status.PodIP = "2", "10.0.0.1" }, false},
		"scheduled":            {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, true},
		"finished":             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, true},
		"deleted":              {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, true},
		"another Echo":         {func(p *corev1.Pod) { p.Labels = map[string]string{"echoes.example.com/companion": "y"} }, true},
	} {
		got := ownerTurned().Update(event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: slimmed(t, asking()), ObjectNew: slimmed(t, asking(c.change))})
		if got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestOwnerOf(t *testing.T) {
	made := companionFor(t, asking(), companionEcho())
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web-0"}}}
	if diff := cmp.Diff(want, ownerOf(context.Background(), &made)); diff != "" {
		t.Error(diff)
	}
	if got := ownerOf(context.Background(), asking()); got != nil {
		t.Errorf("a pod that is no companion has the owners %v", got)
	}
}

func TestMemoryTellsOnceUntilItChanges(t *testing.T) {
	m, pod := &memory{}, types.NamespacedName{Name: "p"}
	for i, step := range []struct {
		said string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", false}, {"b", true}} {
		if got := m.changes(pod, step.said); got != step.want {
			t.Errorf("step %d: got %t", i, got)
		}
	}
	m.changes(pod, "")
	if len(m.said) != 0 {
		t.Errorf("it keeps %v", m.said)
	}
}
