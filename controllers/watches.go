package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

const (
	// ByNode is the index of pods by node.
	ByNode = "spec.nodeName"
	// byEcho is the index of pods and companions by Echo.
	byEcho = "metadata.labels.echo"
	// ByOwner is the index of companions by the pod that owns them.
	ByOwner = "metadata.ownerReferences.name"
)

// CachedPodsOf uses an index to select an Echo's cached pods and companions, because selecting them by labels would read all pods in the
// namespace.
func CachedPodsOf(echo *v1.Echo) client.ListOption { return client.MatchingFields{byEcho: echo.Name} }

// PodIndexes returns the indexes of the pod cache.
func PodIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		ByNode: NodeOfPod,
		byEcho: func(pod client.Object) []string { return []string{objects.EchoOf(pod)} },
	}
}

// NodeOfPod returns the name of a pod's node, or nil if the pod has no node.
func NodeOfPod(pod client.Object) []string {
	if p, ok := pod.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}
	}
	return nil
}

// OwnerOfCompanion returns the name of the pod that a companion belongs to, or nil for other pods.
func OwnerOfCompanion(pod client.Object) []string {
	if owner := objects.CompanionOwner(pod); owner != "" {
		return []string{owner}
	}
	return nil
}

// EchoChanged drops the updates that change neither the generation nor the finalizers of an Echo.
func EchoChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, finalizers)
}

// SinceStart drops the events for objects that already existed when the process became the leader, because each existing Echo is reconciled
// anyway.
func SinceStart() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
}

// Updated selects the updates for which a function returns true, and all events that are not updates.
func Updated[T client.Object](differs func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, ok2 := e.ObjectNew.(T)
		return !ok || !ok2 || differs(before, after)
	}}
}

// RequestsFor returns a request for the named object, or no request if the name is empty.
func RequestsFor(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{Namespace: namespace, Name: name}}
}
