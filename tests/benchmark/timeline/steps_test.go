package main

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestPath checks that each step follows an earlier step, and that parallel steps are not on the path.
func TestPath(t *testing.T) {
	var names []string
	for _, s := range path() {
		names = append(names, s.name)
	}
	if want := []string{applied, finalizer, created, replicas, pod, scheduled, running, podReady, available, ready}; !slices.Equal(names,
		want) {
		t.Errorf("the steps on the path are %v, not %v", names, want)
	}
}

// TestSteps checks which steps are complete according to each object. The objects are in the order of the steps.
func TestSteps(t *testing.T) {
	deployment := func(available int32) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))},
			Status: appsv1.DeploymentStatus{AvailableReplicas: available}}
	}
	l, missing := line{}, 0
	l[applied] = 0
	missing = len(l.missing())
	for i, c := range []struct {
		object client.Object
		shows  []string
	}{
		{echo(1, nil), nil},
		{echo(1, func(e *v1.Echo) { e.Finalizers = []string{v1.Finalizer} }), []string{finalizer}},
		{deployment(0), []string{created}},
		{&appsv1.ReplicaSet{}, []string{replicas}},
		{podOf("", corev1.ConditionFalse), []string{pod}},
		{podOf("node", corev1.ConditionFalse), []string{scheduled}},
		{podOf("node", corev1.ConditionTrue, corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
			[]string{running, podReady}},
		{deployment(1), []string{available}},
		{echo(2, func(e *v1.Echo) { e.Status = readyAt(1) }), nil},
		{echo(2, func(e *v1.Echo) { e.Status = readyAt(2) }), []string{"first status", ready}},
	} {
		at := time.Duration(i+1) * time.Second
		l.note(c.object, at)
		for _, name := range c.shows {
			if l[name] != at {
				t.Errorf("object %d: the step %q is noted at %s", i+1, name, l[name])
			}
		}
		if missing -= len(c.shows); len(l.missing()) != missing {
			t.Errorf("object %d: %v are missing, not %d", i+1, l.missing(), missing)
		}
	}
}

func echo(generation int64, change func(*v1.Echo)) *v1.Echo {
	e := &v1.Echo{Generation: generation}
	if change != nil {
		change(e)
	}
	return e
}

func readyAt(generation int64) v1.EchoStatus {
	return v1.EchoStatus{ObservedGeneration: generation,
		Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue}}}
}

func podOf(node string, ready corev1.ConditionStatus, containers ...corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{
		ContainerStatuses: containers, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
}
