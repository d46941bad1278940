package controllers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// updates are updates of objects, and whether a predicate selects them.
type updates map[string]struct {
	before, after client.Object
	selected      bool
}

func (u updates) check(t *testing.T, selects predicate.Predicate) {
	t.Helper()
	for name, c := range u {
		selected := selects.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after})
		NewWithT(t).Expect(selected).To(Equal(c.selected), name)
	}
}

func TestEchoChanged(t *testing.T) {
	updates{
		"its status": {storedEcho(), storedEcho(func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady }), false},
		"a label":    {storedEcho(), storedEcho(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), false},
		"its spec":   {storedEcho(), storedEcho(func(e *v1.Echo) { e.Generation++ }), true},
		"finalizers": {storedEcho(), storedEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} }), true},
	}.check(t, echoChanged())
}

func TestPodChanged(t *testing.T) {
	pod := func(phase corev1.PodPhase, address string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, PodIP: address}}
	}
	updates{
		"an address":   {pod(corev1.PodRunning, ""), pod(corev1.PodRunning, "10.0.0.1"), false},
		"failed":       {pod(corev1.PodRunning, ""), pod(corev1.PodFailed, ""), true},
		"another kind": {&corev1.Service{}, &corev1.Service{}, true},
	}.check(t, podChanged())
}

func TestNodeChanged(t *testing.T) {
	node := func(unschedulable bool, ready corev1.ConditionStatus, message string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message, LastHeartbeatTime: metav1.Now()}}}}
	}
	updates{
		"a heartbeat":     {node(false, "True", ""), node(false, "True", ""), false},
		"another message": {node(false, "Unknown", "a"), node(false, "Unknown", "b"), false},
		"lost":            {node(false, "True", ""), node(false, "Unknown", ""), true},
		"back":            {node(false, "Unknown", ""), node(false, "True", ""), true},
		"cordoned":        {node(false, "True", ""), node(true, "True", ""), true},
	}.check(t, nodeChanged())
}

func TestEchoOfPod(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-1", Labels: map[string]string{"app.kubernetes.io/instance": "x"}}}
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "x"}}}
	g.Expect(echoOfPod(context.Background(), pod)).To(BeComparableTo(want))
	pod.Labels = nil
	g.Expect(echoOfPod(context.Background(), pod)).To(BeEmpty())
}

func TestNodeOfPod(t *testing.T) {
	if got := nodeOfPod(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}); len(got) != 1 || got[0] != "n" {
		t.Errorf("got %v", got)
	}
	NewWithT(t).Expect(nodeOfPod(&corev1.Pod{})).To(BeNil())
}

func TestWhatWasThereAtTheStartStartsNoPasses(t *testing.T) {
	selected := sinceStart()
	NewWithT(t).Expect(selected.Create(event.CreateEvent{Object: &corev1.Pod{}, IsInInitialList: true})).To(BeFalse(), "it was there")
	if !selected.Create(event.CreateEvent{Object: &corev1.Pod{}}) || !selected.Update(event.UpdateEvent{}) || !selected.Delete(event.DeleteEvent{}) {
		t.Error("something changed since")
	}
}

func TestAnEventOfAPodWaitsForTheDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, pods, began := newTestQueue(t), afterDelay(echoOfPod), time.Now()
		pods.Create(t.Context(), event.CreateEvent{Object: echoPod()}, q)
		pods.Update(t.Context(), event.UpdateEvent{ObjectOld: echoPod(), ObjectNew: echoPod()}, q)
		pods.Delete(t.Context(), event.DeleteEvent{Object: echoPod()}, q)
		want := requestsFor("ns", "x")[0]
		if request, _ := q.Get(); request != want || time.Since(began) != podDelay {
			t.Errorf("%v after %s", request, time.Since(began))
		}
		q.Done(want)

		began = time.Now()
		pods.Create(t.Context(), event.CreateEvent{Object: echoPod()}, q)
		q.Add(want) // because of an event of the Deployment
		if request, _ := q.Get(); request != want || time.Since(began) != 0 {
			t.Errorf("%v after %s, although another event added it", request, time.Since(began))
		}
		q.Done(want)
		<-time.After(2 * podDelay)
		NewWithT(t).Expect(q.Len()).To(BeZero(), "the event of the pod starts a pass of its own")
	})
}
