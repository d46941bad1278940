// Package echo makes a cluster's objects match its Echoes, and writes the status of the Echoes.
//
// A reconcile reads everything from the cache before it writes anything. A reconcile of an Echo whose objects already match its spec sends
// no requests. Events about children are sent when a child is written, and others after the status is written.
package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// Reconciler makes a cluster's objects match its Echoes. All fields are required.
type EchoReconciler struct {
	Dependencies
	// Gateways describes the cluster's support for the Gateway API. It may be empty.
	Gateways GatewayAPI
	// Labeled holds the pods that have a companion label.
	Labeled cache.Cache

	failures     Failures
	expectations expectations
	corrections  corrections
}

// The permissions on children are in controllers/zz_generated.rights.go, which is generated from the table of kinds.
// +kubebuilder:rbac:groups=example.com,resources=echoes,verbs=list;watch;patch
// +kubebuilder:rbac:groups=example.com,resources=echoes/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes an Echo's objects match the Echo's spec.
func (r *EchoReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := Find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil {
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait, err := r.expectations.wait(ctx, r.Client, echo, r.Now()); wait > 0 || err != nil {
		return ctrl.Result{RequeueAfter: wait}, err
	}
	return r.reconcile(ctx, echo)
}

// forget drops the state of an Echo that is gone.
func (r *EchoReconciler) forget(echo types.NamespacedName) {
	r.Metrics.Echoes.Forget(echo)
	r.failures.End(echo, nil)
	r.expectations.Forget(echo)
	r.corrections.Forget(echo)
}

func (r *EchoReconciler) reconcile(ctx context.Context, echo *v1.Echo) (ctrl.Result, error) {
	var next time.Duration
	var failure *status.Failure
	if echo.DeletionTimestamp.IsZero() {
		next, failure = r.reconcileEcho(ctx, echo)
	} else {
		next, failure = r.reconcileDelete(ctx, echo)
	}
	r.failures.End(client.ObjectKeyFromObject(echo), failure)
	r.Count(ctx, "echo", failure)
	return Result(next, failure)
}

// reconcileEcho brings an Echo's children to their desired state. Even if that fails, reconcileEcho writes the status. It returns the
// failure, and the time until the next reconcile if no event arrives.
func (r *EchoReconciler) reconcileEcho(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	seen, err := r.converge(ctx, echo)
	failure := r.classify(echo, err)
	report := status.Evaluate(echo, seen, failure, r.Now())
	if err := r.publish(ctx, echo, report); err != nil {
		return 0, r.classify(echo, err)
	}
	if failure != nil && failure.NoRetry || failure.IsRefused() {
		failure.RetryAfter = status.Earliest(failure.RetryAfter, report.Next) // the failure may end without a change to the Echo
	}
	return report.Next, failure
}

// publish writes a report's status if the status has changed, and then reports the transitions.
func (r *EchoReconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	if err := r.PublishStatus(ctx, r.echoWriter(), echo, &report.Status, report.Transitions); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	r.Metrics.Echoes.Reported(echo, &report.Status)
	return nil
}

// classify converts the error of a reconcile to a failure.
func (r *EchoReconciler) classify(echo *v1.Echo, err error) *status.Failure {
	return r.failures.Tolerate(client.ObjectKeyFromObject(echo), status.Classify(err), r.Now())
}

// config returns the configuration that the children of Echoes depend on.
func (r *EchoReconciler) config() objects.Config {
	config := r.Config()
	config.Served = r.Gateways.Served
	return config
}

// wrote records that an Echo's reconcile wrote an object.
func (r *EchoReconciler) wrote(echo client.ObjectKey, before, after client.Object) {
	r.expectations.wrote(echo, before, after, r.Now())
}

func (r *EchoReconciler) childWriter() *ChildWriter {
	return &ChildWriter{Client: r.Client, Live: r.Live, Compare: apply.Compare, Wrote: r.wrote}
}

func (r *EchoReconciler) echoWriter() *EchoWriter {
	return &EchoWriter{Client: r.Client, Wrote: r.wrote}
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *EchoReconciler) Memories() []func() {
	return []func(){r.expectations.Clear, r.failures.Clear, r.corrections.Clear}
}
