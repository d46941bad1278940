package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// SetupWithManager registers the reconciler with a manager. An Echo with checks is reconciled when the Echo, one of its CronJobs, or a pod
// of one of its checks changes.
func (r *CheckReconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Echo{}, handler.OnlyControllerOwner())
	return ctrl.NewControllerManagedBy(mgr).
		Named("check").
		WithOptions(Options()).
		Watches(&v1.Echo{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(checksChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(echoOfCheckPod),
			builder.WithPredicates(SinceStart(), runChanged())).
		Watches(objects.NewCronJob(), ofOwner, builder.WithPredicates(SinceStart())).
		Complete(r.Traces.Reconciler("check", r))
}

// checksChanged selects the changes to Echoes that have checks before or after the change.
func checksChanged() predicate.Predicate {
	return predicate.And(predicate.ResourceVersionChangedPredicate{}, predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isEchoWithChecks(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return isEchoWithChecks(e.ObjectOld) || isEchoWithChecks(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isEchoWithChecks(e.Object) },
	})
}

func isEchoWithChecks(object client.Object) bool {
	echo, ok := object.(*v1.Echo)
	return ok && hasChecks(echo)
}

// echoOfCheckPod returns the Echo that a check's pod belongs to.
func echoOfCheckPod(_ context.Context, pod client.Object) []reconcile.Request {
	if objects.CheckOf(pod) == "" {
		return nil
	}
	return RequestsFor(pod.GetNamespace(), objects.EchoOf(pod))
}

// runChanged selects the pod updates that may change the result of a check.
func runChanged() predicate.Predicate {
	return Updated(func(before, after *corev1.Pod) bool { return !equality.Semantic.DeepEqual(before.Status, after.Status) })
}
