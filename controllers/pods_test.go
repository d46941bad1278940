package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const readyStatus = `{phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True"}]}`

func TestSummarizePod(t *testing.T) {
	own := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-1", Labels: map[string]string{labelInstance: "x"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: new(true)}}},
		Spec:   corev1.PodSpec{NodeName: "n"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	companion := companionFor(t, asking(), companionEcho())
	strange, unnamed := *own.DeepCopy(), *own.DeepCopy()
	strange.OwnerReferences[0].Kind, unnamed.Labels = "Job", nil
	for name, c := range map[string]struct {
		pod  corev1.Pod
		want PodSummary
		is   bool
	}{
		"own":        {own, PodSummary{Name: "x-1", Node: "n", State: podNotReady}, true},
		"companion":  {companion, PodSummary{Name: companion.Name, State: podPending, Companion: true}, true},
		"another's":  {strange, PodSummary{}, false},
		"of no Echo": {unnamed, PodSummary{}, false},
		"asks, only": {*asking(), PodSummary{}, false},
	} {
		echo, got, is := SummarizePod(&c.pod)
		if got != c.want || is != c.is || is && (echo != types.NamespacedName{Namespace: "ns", Name: "x"}) {
			t.Errorf("%s: got %v, %+v, %t", name, echo, got, is)
		}
	}
}

func TestPodStates(t *testing.T) {
	going := podWith(t, "g", readyStatus)
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	got := podStates([]corev1.Pod{
		going,
		podWith(t, "r2", readyStatus),
		podWith(t, "r1", readyStatus),
		podWith(t, "n", `{phase: Running, conditions: [{type: Ready, status: "False"}]}`),
		podWith(t, "p", `{phase: Pending}`),
		podWith(t, "new", `{}`),
		podWith(t, "f", `{phase: Failed}`),
		podWith(t, "s", `{phase: Succeeded}`),
	})
	want := map[string][]string{"Terminating": {"g"}, "Ready": {"r1", "r2"}, "NotReady": {"n"}, "Pending": {"new", "p"}, "Failed": {"f", "s"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodStatesAreBounded(t *testing.T) {
	var pods []corev1.Pod
	for i := range 60 {
		pods = append(pods, podWith(t, fmt.Sprintf("p%02d", i), `{}`))
	}
	got := podStates(pods)["Pending"]
	if len(got) != maxPodNames || got[0] != "p00" || got[maxPodNames-1] != "p49" {
		t.Errorf("got %d names from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

func TestPodTurned(t *testing.T) {
	ready := podWith(t, "p", readyStatus)
	other := podWith(t, "p", `{phase: Running, podIP: 10.0.0.1, conditions: [{type: Ready, status: "True"}]}`)
	crashed := podWith(t, "p", `{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 1}}}]}`)
	starting := podWith(t, "p", `{phase: Running, containerStatuses: [{name: echo, state: {running: {}}}]}`)
	for name, c := range map[string]struct {
		before, after corev1.Pod
		want          bool
	}{
		"nothing that the status tells": {ready, other, false},
		"became ready":                  {starting, ready, true},
		"crashed":                       {starting, crashed, true},
	} {
		if got := podTurned().Update(event.UpdateEvent{ObjectOld: &c.before, ObjectNew: &c.after}); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestEchoOfPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-1", Labels: map[string]string{"app.kubernetes.io/instance": "x"}}}
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "x"}}}
	if diff := cmp.Diff(want, echoOfPod(context.Background(), pod)); diff != "" {
		t.Error(diff)
	}
	pod.Labels = nil
	if got := echoOfPod(context.Background(), pod); len(got) != 0 {
		t.Errorf("a pod without the label belongs to %v", got)
	}
}
