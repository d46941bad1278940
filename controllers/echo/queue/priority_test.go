package queue

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func newTestQueue(t *testing.T) priorityqueue.PriorityQueue[reconcile.Request] {
	q := priorityqueue.New[reconcile.Request]("")
	t.Cleanup(q.ShutDown)
	return q
}

func TestEchoEvents_priorities(t *testing.T) {
	type change func(*v1.Echo)
	deleted := func(e *v1.Echo) { e.Generation++; e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	type events = handler.EventHandler
	created := func(initial bool) func(events, workQueue) {
		return func(h events, q workQueue) {
			h.Create(t.Context(), event.CreateEvent{Object: fakecluster.StoredEcho(), IsInInitialList: initial}, q)
		}
	}
	updated := func(c change) func(events, workQueue) {
		return func(h events, q workQueue) {
			h.Update(t.Context(),
				event.UpdateEvent{ObjectOld: fakecluster.StoredEcho(),
					ObjectNew: fakecluster.StoredEcho(c, func(e *v1.Echo) { e.ResourceVersion = "9" })}, q)
		}
	}
	for name, c := range map[string]struct {
		happens  func(events, workQueue)
		priority int
		changes  int
	}{
		"created":            {created(false), 0, 1},
		"there at the start": {created(true), handler.LowPriority, 0},
		"spec changed":       {updated(func(e *v1.Echo) { e.Generation++ }), changePriority, 1},
		"metadata changed":   {updated(func(e *v1.Echo) { e.Labels = map[string]string{"a": "b"} }), 0, 0},
		"being deleted":      {updated(deleted), 0, 0},
		"deleted": {func(h events, q workQueue) {
			h.Delete(t.Context(), event.DeleteEvent{Object: fakecluster.StoredEcho()}, q)
		}, 0, 0},
	} {
		changes, q := 0, newTestQueue(t)
		c.happens((&Expectations{}).Without(EchoEvents(func(client.Object) { changes++ }), client.ObjectKeyFromObject), q)
		if _, priority, _ := q.GetWithPriority(); priority != c.priority || changes != c.changes {
			t.Errorf("%s: priority %d, want %d; %d changes of the spec, want %d", name, priority, c.priority, changes, c.changes)
		}
	}
}
