package children

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEchoPodsAreThoseOfAReplicaSet(t *testing.T) {
	for kind, want := range map[string]bool{"ReplicaSet": true, "Job": false, "Pod": false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Controller: new(true)}}}}
		if got := IsEchoPod(pod); got != want {
			t.Errorf("a pod of a %s: %t", kind, got)
		}
	}
	if IsEchoPod(&corev1.Pod{}) {
		t.Error("a pod without an owner is taken for an echo pod")
	}
}

func TestHasEnded(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{
		corev1.PodPending: false, corev1.PodRunning: false, corev1.PodUnknown: false, corev1.PodSucceeded: true, corev1.PodFailed: true,
	} {
		if got := HasEnded(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got != want {
			t.Errorf("%s: %t", phase, got)
		}
	}
}
