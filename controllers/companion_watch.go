package controllers

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// watch has a pod looked at when it, its companion, the Echo that it names or its node changes.
func (r *CompanionReconciler) watch(b *builder.Builder) *builder.Builder {
	return b.
		WatchesRawSource(source.Kind(r.Labelled, &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}, ownerTurned())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOf), builder.WithPredicates(companionTurned())).
		Watches(&v1.Echo{}, handler.EnqueueRequestsFromMapFunc(r.podsNaming), builder.WithPredicates(intentChanged())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.podsOn), builder.WithPredicates(cordonTurned()))
}

// ownerOf is the pod that a companion is for.
func ownerOf(_ context.Context, pod client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range ownerOfCompanion(pod) {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}})
	}
	return requests
}

// podsNaming are the pods that ask for a companion of an Echo.
func (r *CompanionReconciler) podsNaming(ctx context.Context, echo client.Object) []reconcile.Request {
	return r.labelled(ctx, client.InNamespace(echo.GetNamespace()), client.MatchingLabels{v1.CompanionLabel: echo.GetName()})
}

// podsOn are the pods on a node that ask for a companion.
func (r *CompanionReconciler) podsOn(ctx context.Context, node client.Object) []reconcile.Request {
	return r.labelled(ctx, client.MatchingFields{byNode: node.GetName()})
}

func (r *CompanionReconciler) labelled(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	list := &corev1.PodList{}
	if err := r.Labelled.List(ctx, list, which...); err != nil { // only at the end of the process
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// ownerTurned lets through what decides about a pod's companion.
func ownerTurned() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
		before, after := e.ObjectOld.DeepCopy(), e.ObjectNew.DeepCopy()
		before.ResourceVersion, after.ResourceVersion = "", ""
		return !equality.Semantic.DeepEqual(before, after) // all that is in that cache decides
	}}
}

// companionTurned lets through the end of a companion, and what somebody did to it.
func companionTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*corev1.Pod)
		after, is := e.ObjectNew.(*corev1.Pod)
		return !was || !is || podState(before) != podState(after) ||
			!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations)
	}}
}

// cordonTurned lets through that a node takes pods again, or no longer.
func cordonTurned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*corev1.Node)
		after, is := e.ObjectNew.(*corev1.Node)
		return !was || !is || takesPods(before) != takesPods(after)
	}}
}

// memory is what was last told of each pod. A new process begins without: it tells once more.
type memory struct {
	lock sync.Mutex
	said map[types.NamespacedName]string
}

// changes notes what is to be told of a pod, empty for nothing, and whether that is new.
func (m *memory) changes(pod types.NamespacedName, said string) bool {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.said[pod] == said {
		return false
	}
	if m.said == nil {
		m.said = map[types.NamespacedName]string{}
	}
	m.said[pod] = said
	if said == "" {
		delete(m.said, pod)
	}
	return true
}
