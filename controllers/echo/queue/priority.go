package queue

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// changePriority is the priority of an Echo whose spec changed. Such an Echo is reconciled first, because a user is waiting for the change.
// Echoes that other events queue have priority 0, and Echoes that exist when the operator starts have handler.LowPriority.
const changePriority = 1

// EchoEvents returns a handler that queues Echoes, and calls a function for each Echo that is new or has a new spec.
func EchoEvents(changed func(client.Object)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workQueue) {
			if !e.IsInInitialList {
				changed(e.Object)
			}
			q.Add(requestOf(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workQueue) {
			if !isSpecChange(e) {
				q.Add(requestOf(e.ObjectNew))
				return
			}
			changed(e.ObjectNew)
			q.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(
				priorityqueue.AddOpts{Priority: new(changePriority)}, requestOf(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workQueue) { q.Add(requestOf(e.Object)) },
	}
}

func isSpecChange(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() && e.ObjectNew.GetDeletionTimestamp().IsZero()
}

func requestOf(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
