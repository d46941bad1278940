package queue

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// podDelay is how long an event of a pod waits for the event of the Deployment, which mostly follows, so that one reconcile does for both.
// An Echo is not ready later because of it: that depends on the Deployment.
const podDelay = 200 * time.Millisecond

// companionDelay is how long an event of a pod that requests a companion waits for the event of the companion, which has a controller of its
// own. Only if none comes, there is something to report.
const companionDelay = 10 * time.Second

// AfterDeployment returns a handler that adds Echoes to the queue when podDelay is over, unless another event adds them earlier.
func AfterDeployment(echoesOf handler.MapFunc) handler.EventHandler { return after(podDelay, echoesOf) }

// AfterCompanion returns a handler that adds Echoes to the queue when companionDelay is over, unless another event adds them earlier.
func AfterCompanion(echoesOf handler.MapFunc) handler.EventHandler {
	return after(companionDelay, echoesOf)
}

func after(delay time.Duration, echoesOf handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, object client.Object, q workQueue) {
		for _, request := range echoesOf(ctx, object) {
			q.AddAfter(request, delay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workQueue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workQueue) {
			add(ctx, e.ObjectOld, q)
			add(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workQueue) { add(ctx, e.Object, q) },
	}
}
