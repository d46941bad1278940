package main

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestLine(t *testing.T) {
	running := []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	l := line{}
	for i, object := range []any{
		&v1.Echo{Generation: 2, Status: v1.EchoStatus{Phase: v1.PhaseReady, ObservedGeneration: 1}},
		&appsv1.Deployment{},
		&corev1.Pod{},
		&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: running}},
		&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: running, Conditions: ready}},
		&appsv1.Deployment{Status: appsv1.DeploymentStatus{AvailableReplicas: 1}},
		&v1.Echo{Generation: 2, Status: v1.EchoStatus{Phase: v1.PhaseReady, ObservedGeneration: 2}},
	} {
		if l.complete() {
			t.Errorf("complete before object %d: %+v", i, l)
		}
		l.note(object, time.Duration(i+1)*time.Second)
	}
	if want := (line{2 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second}); l != want || !l.complete() {
		t.Errorf("the steps are %+v, not %+v", l, want)
	}
}

func TestTable(t *testing.T) {
	const ms = time.Millisecond
	fast, slow := line{20 * ms, 500 * ms, 900 * ms, 930 * ms, 940 * ms}, line{20 * ms, 500 * ms, 900 * ms, 930 * ms, 1000 * ms}
	const want = `| milliseconds of 3 Echoes with one replica | median | p99 |
|---|---|---|
| until the Echo is ready | 940 | 1000 |
| waiting for the operator | 30 | 90 |
| from the start of the container until the pod is Ready | 400 | 400 |
`
	if got := table([]line{fast, slow, fast}); got != want {
		t.Errorf("the table is\n%s", got)
	}
}
