package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// byNode is the index by which the pods of a node are found.
const byNode = "spec.nodeName"

// SetupWithManager registers the reconciler with a manager.
func (r *EchoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byNode, nodeOfPod); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1.Echo{}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controllerOptions())
	for _, kind := range children.Kinds() {
		b.Owns(kind)
	}
	b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(echoOfPod), builder.WithPredicates(podChanged()))
	b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.echoesOnNode), builder.WithPredicates(nodeChanged()))
	b.WatchesRawSource(r.onTLSChange(r.requestsForTLS))
	return b.Complete(reconcile.Func(r.ReconcileNamed))
}

// echoChanged selects what others do to an Echo, and not the operator's own writes of its status.
func echoChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, finalizers)
}

// podChanged selects the updates of pods that the status of an Echo reports.
func podChanged() predicate.Predicate { return updated(status.PodDiffers) }

// nodeChanged selects the updates of nodes that bring or end a problem.
func nodeChanged() predicate.Predicate {
	return updated(func(before, after *corev1.Node) bool {
		return !slices.Equal(status.ProblemNames(status.ProblemsOf(before)), status.ProblemNames(status.ProblemsOf(after)))
	})
}

// updated selects the updates for which a function returns true, and all other events.
func updated[T client.Object](differs func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, ok2 := e.ObjectNew.(T)
		return !ok || !ok2 || differs(before, after)
	}}
}

// echoOfPod returns the Echo that a pod belongs to by its labels. Pods that are not the operator's are not in the cache.
func echoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return requestsFor(pod.GetNamespace(), children.EchoOf(pod))
}

// requestsFor returns a request for the object of a name, and none if the name is empty.
func requestsFor(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// echoesOnNode returns the Echoes that have pods on a node.
func (r *EchoReconciler) echoesOnNode(ctx context.Context, node client.Object) []reconcile.Request {
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{byNode: node.GetName()}); err != nil { // only while the process ends
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if !children.IsCompanion(&list.Items[i]) {
			requests = append(requests, echoOfPod(ctx, &list.Items[i])...)
		}
	}
	return requests
}

// requestsForTLS returns the Echoes that depend on the TLS profile of the cluster.
func (r *EchoReconciler) requestsForTLS(ctx context.Context) []reconcile.Request {
	var requests []reconcile.Request
	for _, echo := range r.echoesWithTLS(ctx) {
		requests = append(requests, requestsFor(echo.Namespace, echo.Name)...)
	}
	return requests
}

// nodeOfPod returns the name of the node that a pod is on.
func nodeOfPod(pod client.Object) []string {
	if p, ok := pod.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}
	}
	return nil
}
