package controllers

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

const (
	// byNode is the index by which the pods of a node are found.
	byNode = "spec.nodeName"
	// byEcho is the index by which the pods and companions of an Echo are found.
	byEcho = "metadata.labels.echo"
	// podDelay is how long an event of a pod waits for that of the Deployment, which mostly follows, so that one pass does for both. An Echo
	// is not ready later because of it: that depends on the Deployment.
	podDelay = 200 * time.Millisecond
)

// SetupWithManager registers the reconciler with a manager.
func (r *EchoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	for name, index := range podIndexes() {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, name, index); err != nil {
			return err
		}
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("echo").WithOptions(controllerOptions()).WithLogConstructor(echoLog(mgr.GetLogger()))
	b.Watches(&v1.Echo{}, r.own.without(echoEvents(r.Metrics.Echoes.Changed), client.ObjectKeyFromObject),
		builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Echo{}, handler.OnlyControllerOwner())
	for _, kind := range children.KindsServed(r.Gateways.Served) {
		b.Watches(kind, r.own.without(ofOwner, echoOfChild), builder.WithPredicates(sinceStart()))
	}
	b.Watches(&corev1.Pod{}, afterDelay(echoOfPod), builder.WithPredicates(sinceStart(), podChanged()))
	b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.echoesOnNode), builder.WithPredicates(sinceStart(), nodeChanged()))
	if r.Gateways.Served[children.GatewayKind] {
		b.Watches(&gatewayv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.echoesBehind), builder.WithPredicates(sinceStart(), gatewayChanged()))
	}
	return b.Complete(r.Traces.Passes("echo", reconcile.Func(r.ReconcileNamed)))
}

// echoLog returns what makes the log of a pass from that of the manager, as for all controllers with a main kind.
func echoLog(log logr.Logger) func(*reconcile.Request) logr.Logger {
	log = log.WithValues("controller", "echo", "controllerGroup", v1.GroupVersion.Group, "controllerKind", "Echo")
	return func(r *reconcile.Request) logr.Logger {
		if r == nil {
			return log
		}
		return log.WithValues("Echo", klog.KRef(r.Namespace, r.Name), "namespace", r.Namespace, "name", r.Name)
	}
}

// podIndexes returns the indexes of the cache of pods.
func podIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		byNode: nodeOfPod,
		byEcho: func(pod client.Object) []string { return []string{children.EchoOf(pod)} },
	}
}

// echoChanged selects what others do to an Echo, and not the operator's own writes of its status.
func echoChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, finalizers)
}

// sinceStart leaves out the objects that were there when the process began to lead: each Echo that was there has a pass anyway.
func sinceStart() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
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

// echoOfChild returns the Echo that a child belongs to by its owner reference.
func echoOfChild(child client.Object) types.NamespacedName {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: child.GetNamespace(), Name: owner.Name}
}

// echoOfPod returns the Echo that a pod belongs to by its labels. Pods that are not the operator's are not in the cache.
func echoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	if children.CheckOf(pod) != "" { // not of the Deployment
		return nil
	}
	return requestsFor(pod.GetNamespace(), children.EchoOf(pod))
}

// afterDelay returns a handler that adds Echoes to the queue when podDelay is over, unless another event adds them earlier.
func afterDelay(echoesOf handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, object client.Object, q queue) {
		for _, request := range echoesOf(ctx, object) {
			q.AddAfter(request, podDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			add(ctx, e.ObjectOld, q)
			add(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
	}
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

// nodeOfPod returns the name of the node that a pod is on.
func nodeOfPod(pod client.Object) []string {
	if p, ok := pod.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}
	}
	return nil
}
