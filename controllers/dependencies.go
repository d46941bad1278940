package controllers

import (
	"context"
	"time"

	"golang.org/x/net/http/httpproxy"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/internal/telemetry"
)

const (
	// workers is how many objects a controller can reconcile concurrently. More would not help: the API server is the bottleneck.
	workers = 16
	// reconcileTimeout limits the duration of a reconcile, in case the API server does not respond.
	reconcileTimeout = time.Minute
	// firstRetry is the wait before the first retry of a failed reconcile. The wait doubles with each failure, up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Minute
)

// Dependencies holds the dependencies that the reconcilers share. All fields are required.
type Dependencies struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Images holds the images configured for the operator.
	Images objects.Images
	// Proxies holds the forward proxies that the environment of the operator names.
	Proxies httpproxy.Config
	// TLS holds the cluster's requirements for TLS endpoints.
	TLS objects.TLSProfile
	// Routes is true if the cluster serves OpenShift Routes.
	Routes bool
	// Policy determines what the operator allows.
	Policy objects.Policy
	// Metrics holds the operator's metrics.
	Metrics *telemetry.Metrics
	// Traces creates spans for reconciles. It is nil if traces are disabled.
	Traces *telemetry.Tracer
	// Now returns the current time.
	Now func() time.Time
}

// newController returns a builder for a controller, with the options that all controllers have.
func newController(mgr ctrl.Manager, name string) *ctrl.Builder {
	return ctrl.NewControllerManagedBy(mgr).Named(name).WithOptions(controller.Options{
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      new(true), // a test process starts the operator more than once
		ReconciliationTimeout:   reconcileTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
}

// finish ends a reconcile: it ends the object's series of failures, counts a failure, marks its span as failed, and returns what resultOf
// returns. failure is nil if the reconcile succeeded.
func (d *Dependencies) finish(ctx context.Context, controller string, f *failures, object client.ObjectKey, next time.Duration,
	failure *status.Failure) (ctrl.Result, error) {
	f.end(object, failure)
	if failure != nil {
		reason := ""
		if failure.Reason != nil {
			reason = failure.Reason.String()
		}
		d.Metrics.Failures.Add(controller, failure.Transient, reason)
		telemetry.SetSpanFailure(ctx, reason, failure.Err)
	}
	return resultOf(next, failure)
}

// config returns the configuration that companions and, with the kinds that the cluster serves, the children of Echoes depend on.
func (d *Dependencies) config() objects.Config {
	return objects.Config{Images: d.Images, TLS: d.TLS, Routes: d.Routes}
}

// SendEvents reports transitions as events and in the log.
func (d *Dependencies) SendEvents(ctx context.Context, echo *v1.Echo, transitions ...status.Transition) {
	for _, t := range transitions {
		log.FromContext(ctx).Info(t.Note, "reason", t.Reason.String())
		d.sendEvent(echo, t)
	}
}

// sendEvent reports a transition of an object as an event.
func (d *Dependencies) sendEvent(regarding client.Object, t status.Transition) {
	d.Recorder.Eventf(regarding, t.Related, t.Reason.EventType(), t.Reason.String(), t.Action, "%s", t.EventNote())
}
