package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestNodeOfPod(t *testing.T) {
	if got := NodeOfPod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}); len(got) != 1 || got[0] != "n" {
		t.Errorf("got %v", got)
	}
	NewWithT(t).Expect(NodeOfPod(&corev1.Pod{})).To(BeNil())
}

func TestEchoChanged(t *testing.T) {
	Updates{
		"its status": {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady }), false},
		"a label":    {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), false},
		"its spec":   {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Generation++ }), true},
		"finalizers": {StoredEcho(), StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }),
			true},
	}.Check(t, EchoChanged())
}

func TestSinceStart_ignoresExistingObjects(t *testing.T) {
	selected := SinceStart()
	NewWithT(t).Expect(selected.Create(event.CreateEvent{Object: &corev1.Pod{}, IsInInitialList: true})).To(BeFalse(), "it is selected")
	if !selected.Create(event.CreateEvent{Object: &corev1.Pod{}}) || !selected.Update(event.UpdateEvent{}) ||
		!selected.Delete(event.DeleteEvent{}) {
		t.Error("an event after the start is dropped")
	}
}
