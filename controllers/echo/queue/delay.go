package queue

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

const (
	// Soon is how long an event waits that another event mostly follows, such as that of the Deployment after that of a pod, so that one
	// reconcile handles both.
	Soon = 200 * time.Millisecond
	// Gathered is how long an event waits that only changes counts, so that a rollout does not write the status for each step of each pod.
	Gathered = 2 * time.Second
	// ByCompanion is how long an event of a pod that requests a companion waits for the event of the companion, which has a controller of its
	// own. Only if none arrives, there is something to report.
	ByCompanion = 10 * time.Second
)

// Delay returns how long an event waits, zero if it does not. before is nil for a new object, and after for one that is gone.
type Delay func(before, after client.Object) time.Duration

// After returns a handler that adds Echoes to the queue when the delay of an event is over, unless another event adds them earlier.
func After(delay Delay, echoesOf handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, object client.Object, delay time.Duration, q workQueue) {
		for _, request := range echoesOf(ctx, object) {
			if delay > 0 {
				q.AddAfter(request, delay)
			} else {
				q.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workQueue) {
			add(ctx, e.Object, delay(nil, e.Object), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workQueue) {
			wait := delay(e.ObjectOld, e.ObjectNew)
			add(ctx, e.ObjectOld, wait, q)
			add(ctx, e.ObjectNew, wait, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workQueue) {
			add(ctx, e.Object, delay(e.Object, nil), q)
		},
	}
}
