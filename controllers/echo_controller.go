package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/history"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/internal/tracing"
)

// EchoReconciler makes the objects of a cluster match its Echoes. All fields are required.
type EchoReconciler struct {
	Dependencies
	// History records each pass.
	History *history.History
	// Gateways is what the cluster offers of Gateway API. It may be empty.
	Gateways GatewayAPI

	failures   failures
	unreported unreported
	own        ownWrites
	compared   memory[comparison]
}

// +kubebuilder:rbac:groups=example.com,resources=echoes,verbs=list;watch;patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/status,verbs=patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// ReconcileNamed makes one pass over the Echo of a name, if it exists.
func (r *EchoReconciler) ReconcileNamed(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	began := r.Now()
	echo, err := find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil {
		r.forget(ctx, request.NamespacedName)
		return ctrl.Result{}, nil
	}
	tracing.SetGeneration(ctx, echo.Generation)
	if wait := r.own.begin(echo, r.Now()); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	defer r.own.end(request.NamespacedName)
	r.announce(ctx, echo, r.unreported.published(echo)...)
	answer, err := r.Reconcile(ctx, echo)
	r.History.AddPass(request.NamespacedName, began, err)
	return answer, err
}

// forget drops what is held of an Echo that is gone.
func (r *EchoReconciler) forget(ctx context.Context, echo types.NamespacedName) {
	r.History.Forget(echo)
	r.failures.end(echo, nil)
	r.own.forget(echo)
	r.compared.forget(echo)
	r.Metrics.Echoes.Forget(echo)
	if end := r.unreported.gone(echo); end != nil {
		r.announce(ctx, end.echo, end.transition)
	}
}

// Reconcile makes one pass over an Echo.
func (r *EchoReconciler) Reconcile(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	var next time.Duration
	var failure *status.Failure
	if echo.DeletionTimestamp.IsZero() {
		next, failure = r.pass(ctx, echo)
	} else {
		next, failure = r.finalize(ctx, echo)
	}
	r.failures.end(client.ObjectKeyFromObject(echo), failure)
	r.count(ctx, "echo", failure)
	return result(next, failure)
}

// pass makes the children of an Echo as wanted and writes its status, even if the former failed. It returns when to look again if no
// event arrives earlier, and what failed.
func (r *EchoReconciler) pass(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	seen, err := r.converge(ctx, echo)
	failure := r.classify(echo, err)
	seen.Changes = r.unreported.add(client.ObjectKeyFromObject(echo), seen)
	report := status.Evaluate(echo, seen, failure, r.Now())
	if err := r.publish(ctx, echo, report); err != nil {
		return 0, r.classify(echo, err)
	}
	if failure != nil && failure.NoRetry {
		failure.RetryAfter = report.Next // an edit is not the only event that is waited for
	}
	return report.Next, failure
}
