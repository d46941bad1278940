// Package podmonitor makes an Echo's PodMonitor match the Echo's spec.
package controllers

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// Reconciler makes Prometheus collect the metrics of the Echoes that request monitoring, in clusters that serve PodMonitors. It is separate
// from the Echo reconciler, so that an Echo does not fail because it cannot be monitored. All fields are required.
type PodMonitorReconciler struct {
	Dependencies
	// Cached reads PodMonitors from the cache. Client would ask the API server, because PodMonitors have no Go type.
	Cached client.Reader

	failures Failures
	reported LastReports
}

// SetupWithManager registers the reconciler with a manager.
func (r *PodMonitorReconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Echo{}, handler.OnlyControllerOwner())
	return ctrl.NewControllerManagedBy(mgr).
		Named("podmonitor").
		WithOptions(Options()).
		Watches(&v1.Echo{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(EchoChanged())).
		Watches(objects.NewPodMonitor(), ofOwner, builder.WithPredicates(SinceStart())).
		Complete(r.Traces.Reconciler("podmonitor", r))
}

// Reconcile brings an Echo's PodMonitor to its desired state.
func (r *PodMonitorReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := Find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo != nil {
		err = r.reconcileEcho(ctx, echo)
	}
	failure := r.failures.Tolerate(request.NamespacedName, status.Classify(err), r.Now())
	r.failures.End(request.NamespacedName, failure)
	r.Count(ctx, "podmonitor", failure)
	r.report(request, echo, failure)
	return Result(0, failure)
}

// reconcileEcho brings an Echo's PodMonitor to its desired state. The PodMonitor is deleted with its Echo.
func (r *PodMonitorReconciler) reconcileEcho(ctx context.Context, echo *v1.Echo) error {
	if echo.Spec.Paused || !echo.DeletionTimestamp.IsZero() {
		return nil
	}
	child := objects.PodMonitor(echo)
	live, err := r.ReadOwned(ctx, r.Cached, echo, child)
	if err != nil {
		return err
	}
	writer := ChildWriter{Client: r.Client, Live: r.Live, Compare: compare}
	after, err := writer.Ensure(ctx, child, live)
	if after != nil && after != live {
		log.FromContext(ctx).Info("Applied a PodMonitor.")
	}
	return err
}

// compare returns how a PodMonitor differs from the desired PodMonitor, without using a schema.
func compare(child objects.Child, live client.Object) (apply.Difference, error) {
	extra, err := apply.OwnsExtraMetadata(live, child.Desired)
	return apply.Difference{None: !extra && objects.IsMonitoredAs(live, child.Desired)}, err
}

// report sends an event about an Echo that cannot be monitored, unless the event would repeat the last one.
func (r *PodMonitorReconciler) report(request ctrl.Request, echo *v1.Echo, failure *status.Failure) {
	said := ""
	if echo != nil && failure != nil && !failure.Silent() {
		said = fmt.Sprint(echo.UID, failure.Err)
	}
	if r.reported.Replace(request.NamespacedName, said) && said != "" {
		r.SendEvent(echo, status.NotMonitored(failure.Err))
	}
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *PodMonitorReconciler) Memories() []func() {
	return []func(){r.failures.Clear, r.reported.Clear}
}
