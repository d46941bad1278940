package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestNodeOfPod(t *testing.T) {
	if got := controllers.NodeOfPod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}); len(got) != 1 || got[0] != "n" {
		t.Errorf("got %v", got)
	}
	NewWithT(t).Expect(controllers.NodeOfPod(&corev1.Pod{})).To(BeNil())
}

func TestEchoChanged(t *testing.T) {
	fakecluster.Updates{
		"its status": {fakecluster.StoredEcho(), fakecluster.StoredEcho(func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady }), false},
		"a label":    {fakecluster.StoredEcho(), fakecluster.StoredEcho(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), false},
		"its spec":   {fakecluster.StoredEcho(), fakecluster.StoredEcho(func(e *v1.Echo) { e.Generation++ }), true},
		"finalizers": {fakecluster.StoredEcho(), fakecluster.StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }),
			true},
	}.Check(t, controllers.EchoChanged())
}

func TestSinceStart_ignoresExistingObjects(t *testing.T) {
	selected := controllers.SinceStart()
	NewWithT(t).Expect(selected.Create(event.CreateEvent{Object: &corev1.Pod{}, IsInInitialList: true})).To(BeFalse(), "it is selected")
	if !selected.Create(event.CreateEvent{Object: &corev1.Pod{}}) || !selected.Update(event.UpdateEvent{}) ||
		!selected.Delete(event.DeleteEvent{}) {
		t.Error("an event after the start is dropped")
	}
}
