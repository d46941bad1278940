package controllers

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// workers is the number of Echoes that are looked at at once; more than this gains nothing on an API server.
	workers = 16
	// passTimeout ends a pass that waits for an API server that does not answer.
	passTimeout = time.Minute
	// firstRetry and lastRetry bound how long a failed pass waits for its next try.
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Minute
)

// EchoReconciler makes the cluster agree with each Echo. All fields are required.
type EchoReconciler struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder takes the events.
	Recorder events.EventRecorder
	// Images are the images that the operator knows by itself.
	Images Images
	// MaxReplicas is the number of replicas above which an Echo is refused.
	MaxReplicas int32
	// Now is the clock.
	Now func() time.Time
	// Journal is told of each pass.
	Journal *Journal
}

// +kubebuilder:rbac:groups=example.com,resources=echoes,verbs=list;watch;patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/status,verbs=patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager has the manager run the reconciler.
func (r *EchoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, byNode, nodeOfPod); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1.Echo{}, builder.WithPredicates(intentChanged())).
		WithOptions(controllerOptions())
	for _, kind := range ChildKinds() {
		b.Owns(kind)
	}
	b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(echoOfPod), builder.WithPredicates(podTurned()))
	b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.echoesOn), builder.WithPredicates(nodeTurned()))
	return b.Complete(reconcile.Func(r.reconcileNamed))
}

// controllerOptions are how each of the operator's controllers works.
func controllerOptions() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}

// intentChanged lets through what somebody else did to an Echo, and not the operator's own writing of its status.
func intentChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, finalizers)
}

// reconcileNamed is one pass over an Echo, if there is one of that name.
func (r *EchoReconciler) reconcileNamed(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := found(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil {
		r.Journal.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	begun := r.Journal.Now()
	result, err := r.Reconcile(ctx, echo)
	r.Journal.notePass(request.NamespacedName, begun, err)
	return result, err
}

// Reconcile is one pass over an Echo.
func (r *EchoReconciler) Reconcile(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	if !echo.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, echo)
	}
	seen, err := r.converge(ctx, echo)
	failed := classify(err)
	if failed.silent() {
		return failed.result()
	}
	wanted := statusFor(echo, seen, failed, r.Images, r.Now())
	if err := r.publish(ctx, echo, wanted, transitions(&echo.Status, &wanted, seen)); err != nil {
		return classify(err).result()
	}
	if failed == nil {
		return ctrl.Result{RequeueAfter: untilOverdue(&wanted, r.Now())}, nil
	}
	return failed.result()
}
