package queue

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

const (
	// Soon is the delay for an event that usually precedes another event. For example, a pod event usually precedes a Deployment event. One
	// reconcile then handles both events.
	Soon = 200 * time.Millisecond
	// Gathered is the delay for an event that only affects counts, so that one status write covers several steps of a rollout.
	Gathered = 2 * time.Second
	// ByCompanion is the delay for an event about a pod that requests a companion. If the companion can be created, its own event arrives
	// earlier.
	ByCompanion = 10 * time.Second
)

// Delay returns how long to delay an event. before is nil for a new object, and after is nil for an object that is gone.
type Delay func(before, after client.Object) time.Duration

// After returns a handler that waits for an event's delay, and then queues the Echoes that the event affects, unless another event queues
// them earlier.
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
