package main

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// These are the components that carry out steps.
const (
	apiServer = "API server"
	operator  = "operator"
	manager   = "controller manager"
	scheduler = "scheduler"
	kubelet   = "kubelet"
)

// These are the steps that other steps depend on.
const (
	applied   = "applied"
	finalizer = "finalizer"
	created   = "Deployment"
	replicas  = "ReplicaSet"
	pod       = "pod created"
	scheduled = "pod scheduled"
	running   = "container running"
	podReady  = "pod Ready"
	available = "Deployment available"
	ready     = "Echo Ready"
)

// step is a milestone between the creation of an Echo and its readiness.
type step struct {
	name, by string
	// after is the step that must be complete before this step.
	after string
	// shows reports whether one of the Echo's objects proves that the step is complete.
	shows func(client.Object) bool
}

// steps returns the steps in their usual order. The first step is complete when the API server responds.
func steps() []step {
	return []step{
		{applied, apiServer, "", func(client.Object) bool { return false }},
		{finalizer, operator, applied, when(func(e *v1.Echo) bool { return controllerutil.ContainsFinalizer(e, v1.Finalizer) })},
		{"Service", operator, finalizer, when(exists[*corev1.Service])},
		{created, operator, finalizer, when(exists[*appsv1.Deployment])},
		{"PodDisruptionBudget", operator, finalizer, when(exists[*policyv1.PodDisruptionBudget])},
		{"first status", operator, finalizer, when(func(e *v1.Echo) bool { return e.Status.ObservedGeneration == e.Generation })},
		{replicas, manager, created, when(exists[*appsv1.ReplicaSet])},
		{pod, manager, replicas, when(exists[*corev1.Pod])},
		{scheduled, scheduler, pod, when(func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })},
		{running, kubelet, scheduled, when(isRunning)},
		{podReady, kubelet, running, when(isReady)},
		{available, manager, podReady, when(func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == *d.Spec.Replicas })},
		{ready, operator, available, when(isEchoReady)},
	}
}

// when converts a condition for objects of one kind into a condition for objects of any kind. Objects of other kinds never meet the new
// condition.
func when[T client.Object](holds func(T) bool) func(client.Object) bool {
	return func(object client.Object) bool {
		typed, ok := object.(T)
		return ok && holds(typed)
	}
}

func exists[T client.Object](T) bool { return true }

func isRunning(p *corev1.Pod) bool {
	is := func(c corev1.ContainerStatus) bool { return c.State.Running != nil }
	return slices.ContainsFunc(p.Status.ContainerStatuses, is)
}

func isReady(p *corev1.Pod) bool {
	is := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
	return slices.ContainsFunc(p.Status.Conditions, is)
}

func isEchoReady(e *v1.Echo) bool {
	return e.Status.ObservedGeneration == e.Generation && meta.IsStatusConditionTrue(e.Status.Conditions, v1.ConditionReady)
}

// path returns the last step and all steps that it depends on, directly or indirectly. Other steps happen in parallel.
func path() []step {
	all := steps()
	found := all[len(all)-1:]
	for found[0].after != "" {
		before := slices.IndexFunc(all, func(s step) bool { return s.name == found[0].after })
		found = append([]step{all[before]}, found...)
	}
	return found
}

// line is the timeline of an Echo. It maps each step to the time from the Echo's creation until the step was observed.
type line map[string]time.Duration

// note records the steps that an object proves complete, unless they were recorded earlier.
func (l line) note(object client.Object, at time.Duration) {
	for _, s := range steps() {
		if _, seen := l[s.name]; !seen && s.shows(object) {
			l[s.name] = at
		}
	}
}

// missing returns the steps that have not been observed yet.
func (l line) missing() []string {
	var names []string
	for _, s := range steps() {
		if _, seen := l[s.name]; !seen {
			names = append(names, s.name)
		}
	}
	return names
}

// took returns the time between a step and the step that it waits for. The result can be slightly negative, because each kind has its own
// watch.
func (l line) took(s step) time.Duration { return l[s.name] - l[s.after] }

// share returns how long the Echo waited for the operator before the Echo was ready.
func (l line) share() time.Duration {
	var sum time.Duration
	for _, s := range path() {
		if s.by == operator {
			sum += l.took(s)
		}
	}
	return sum
}
