package controllers

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// SetupWithManager registers the reconciler with a manager. A pod is reconciled when the pod, its companion, its Echo, or its node changes.
func (r *CompanionReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, ByOwner,
		OwnerOfCompanion); err != nil {
		return err
	}
	if err := r.Labeled.IndexField(context.Background(), &corev1.Pod{}, ByNode, NodeOfPod); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("companion").
		WithOptions(Options()).
		WatchesRawSource(source.Kind(r.Labeled, &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}, cachedFieldChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(podOfCompanion), builder.WithPredicates(companionChanged())).
		Watches(&v1.Echo{}, handler.EnqueueRequestsFromMapFunc(r.podsNaming), builder.WithPredicates(EchoChanged())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.podsOnNode), builder.WithPredicates(schedulabilityChanged())).
		Complete(r.Traces.Reconciler("companion", r))
}

// requestForOwner returns the pod that a companion belongs to.
func podOfCompanion(_ context.Context, pod client.Object) []reconcile.Request {
	return RequestsFor(pod.GetNamespace(), objects.CompanionOwner(pod))
}

// podsNaming returns the pods that request a companion from an Echo.
func (r *CompanionReconciler) podsNaming(ctx context.Context, echo client.Object) []reconcile.Request {
	return r.labeledPods(ctx, client.InNamespace(echo.GetNamespace()), client.MatchingLabels{v1.CompanionLabel: echo.GetName()})
}

// podsOnNode returns the pods that run on a node and request a companion.
func (r *CompanionReconciler) podsOnNode(ctx context.Context, node client.Object) []reconcile.Request {
	return r.labeledPods(ctx, client.MatchingFields{ByNode: node.GetName()})
}

func (r *CompanionReconciler) labeledPods(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	list := &corev1.PodList{}
	if err := r.Labeled.List(ctx, list, which...); err != nil { // the process is stopping
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, RequestsFor(list.Items[i].Namespace, list.Items[i].Name)...)
	}
	return requests
}

// ownerChanged selects the updates that change a cached field of a pod.
func cachedFieldChanged() predicate.TypedPredicate[*corev1.Pod] {
	return predicate.TypedFuncs[*corev1.Pod]{UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Pod]) bool {
		before, after := e.ObjectOld.DeepCopy(), e.ObjectNew.DeepCopy()
		before.ResourceVersion, after.ResourceVersion = "", ""
		return !equality.Semantic.DeepEqual(before, after)
	}}
}

// companionChanged selects the updates that change a companion's state, owner, labels, or annotations.
func companionChanged() predicate.Predicate {
	return Updated(func(before, after *corev1.Pod) bool {
		return status.PodState(before) != status.PodState(after) || objects.CompanionOwner(before) != objects.CompanionOwner(after) ||
			!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations)
	})
}

// schedulabilityChanged selects the updates after which a node starts or stops accepting pods.
func schedulabilityChanged() predicate.Predicate {
	return Updated(func(before, after *corev1.Node) bool {
		return objects.AcceptsPods(before) != objects.AcceptsPods(after)
	})
}
