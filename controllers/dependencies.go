package controllers

import (
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/internal/children"
)

const (
	// workers is how many objects a controller reconciles at once. More would not help, because the API server is the limit.
	workers = 16
	// passTimeout ends a pass that waits for an API server that does not answer.
	passTimeout = time.Minute
	// firstRetry and lastRetry bound how long a failed pass waits before it is retried.
	firstRetry = 5 * time.Millisecond
	lastRetry  = time.Minute
)

// Dependencies are what the reconcilers have in common. All fields are required.
type Dependencies struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder sends events.
	Recorder events.EventRecorder
	// Images are the images that the operator is configured with.
	Images children.Images
	// Schema compares children with what exists.
	Schema children.Schema
	// Policy is what the operator allows.
	Policy children.Policy
	// Now is the clock.
	Now func() time.Time
}

// controllerOptions returns the options of each controller.
func controllerOptions() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      new(true), // a process of a test suite starts the operator more than once
		ReconciliationTimeout:   passTimeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}
