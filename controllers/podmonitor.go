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

// PodMonitorReconciler makes Prometheus collect the metrics of the Echoes that request monitoring, in clusters that serve PodMonitors. It
// is separate from the Echo reconciler, so that an Echo does not fail because it cannot be monitored. All fields are required.
type PodMonitorReconciler struct {
	Dependencies
	// Cached reads PodMonitors from the cache. Client would ask the API server, because PodMonitors have no Go type.
	Cached client.Reader

	failures failures
	reported lastReports
}

// Reconcile brings an Echo's PodMonitor to its desired state, and sends an event about an Echo that cannot be monitored.
func (r *PodMonitorReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo != nil {
		err = r.reconcileEcho(ctx, echo)
	}
	failure := r.failures.tolerate(request.NamespacedName, status.Classify(err), r.Now())
	said := "" // an event that would repeat the last one is not sent
	if echo != nil && failure != nil && !failure.Silent() {
		said = fmt.Sprint(echo.UID, failure.Err)
	}
	if r.reported.replace(request.NamespacedName, said) && said != "" {
		r.sendEvent(echo, status.NotMonitored(failure.Err))
	}
	return r.finish(ctx, "podmonitor", &r.failures, request.NamespacedName, 0, failure)
}

// reconcileEcho brings an Echo's PodMonitor to its desired state. The PodMonitor is deleted with its Echo.
func (r *PodMonitorReconciler) reconcileEcho(ctx context.Context, echo *v1.Echo) error {
	if echo.Spec.Paused || !echo.DeletionTimestamp.IsZero() {
		return nil
	}
	child := objects.PodMonitor(echo)
	live, err := r.readOwned(ctx, r.Cached, echo, child)
	if err != nil {
		return err
	}
	writer := childWriter{client: r.Client, live: r.Live, compare: comparePodMonitor}
	after, err := writer.ensure(ctx, child, live)
	if after != nil && after != live {
		log.FromContext(ctx).Info("Applied a PodMonitor.")
	}
	return err
}

// comparePodMonitor returns how a PodMonitor differs from the desired PodMonitor, without using a schema.
func comparePodMonitor(child objects.Child, live client.Object) (apply.Difference, error) {
	extra, err := apply.OwnsExtraMetadata(live, child.Desired)
	return apply.Difference{None: !extra && objects.IsMonitoredAs(live, child.Desired)}, err
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *PodMonitorReconciler) Memories() []func() {
	return []func(){r.failures.clear, r.reported.clear}
}

// SetupWithManager registers the reconciler with a manager.
func (r *PodMonitorReconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Echo{}, handler.OnlyControllerOwner())
	return newController(mgr, "podmonitor").
		Watches(&v1.Echo{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(echoChanged())).
		Watches(objects.NewPodMonitor(), ofOwner, builder.WithPredicates(sinceStart())).
		Complete(r.Traces.Reconciler("podmonitor", r))
}
