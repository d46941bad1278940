package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// The priorities of passes. Those of Echoes that were there at the start have the lowest, handler.LowPriority. Few different ones are used,
// because the metric of the queue's length has each as a label.
const (
	changePriority = 2 // somebody changed the spec of an Echo and waits
	createPriority = 1 // somebody created an Echo
	eventPriority  = 0 // children, pods and nodes; deletions; what is looked at again or retried
	// delayedEvent is asked for what waits for a time first, as retries do. It has the priority of events then, but a line of its own: many that
	// wait long do not make others of their namespace wait.
	delayedEvent = -1
	// These are the priorities of an Echo of a namespace of which others wait at the same priority: fewer than few, fewer than many, or more.
	// Whatever they wait for, they are served in turn: if new ones went first, those that exist would not be looked at until the last was created.
	fewPriority     = -10
	somePriority    = -20
	crowdedPriority = -30
	few, many       = 4, 16
)

// fairQueue is a queue of Echoes in which a single change does not wait until a storm of others is over: changes go before other events, and
// a namespace of which many wait goes behind those of which fewer do, so that a storm may also be one of many namespaces. Each Echo is in it
// once.
type fairQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	lock    sync.Mutex
	waiting map[reconcile.Request]turn
	lines   map[line]crowd
}

// turn is where an Echo waits in the queue: the priority that was asked for, and that which it has.
type turn struct{ asked, has int }

// line is what waits of a namespace at a priority that was asked for.
type line struct {
	namespace string
	asked     int
}

// crowd is how many Echoes wait in a line, and the priority of the last one, which nobody of the line goes before.
type crowd struct{ waiting, last int }

// newFairQueue returns an empty queue, as a controller makes it when it starts.
func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
	return &fairQueue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		waiting:       map[reconcile.Request]turn{}, lines: map[line]crowd{},
	}
}

// Add adds an Echo because of an event.
func (q *fairQueue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter adds an Echo once a time has passed.
func (q *fairQueue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited adds an Echo to be retried.
func (q *fairQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// AddWithOpts adds Echoes. What is to wait for a time has no precedence then: it may be many that fail again and again, and all of a
// namespace may be due at once.
func (q *fairQueue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	asked := eventPriority
	if o.Priority != nil {
		asked = *o.Priority
	}
	if o.After > 0 || o.RateLimited {
		asked = min(asked, delayedEvent)
	}
	for _, request := range requests {
		o.Priority = new(q.enter(request, asked))
		q.PriorityQueue.AddWithOpts(o, request)
	}
}

// GetWithPriority waits for the next Echo and takes it out.
func (q *fairQueue) GetWithPriority() (reconcile.Request, int, bool) {
	request, priority, shutdown := q.PriorityQueue.GetWithPriority()
	q.lock.Lock()
	defer q.lock.Unlock()
	q.leave(request)
	return request, priority, shutdown
}

// Get is GetWithPriority without the priority.
func (q *fairQueue) Get() (reconcile.Request, bool) {
	request, _, shutdown := q.GetWithPriority()
	return request, shutdown
}

// enter returns the priority for an Echo. One that already waits stays where it is, unless a higher priority is asked for.
func (q *fairQueue) enter(request reconcile.Request, asked int) int {
	if asked < delayedEvent {
		return asked
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	if p, waits := q.waiting[request]; waits && p.asked >= asked {
		return p.has
	}
	q.leave(request)
	l := line{request.Namespace, asked}
	c := q.lines[l]
	has := priorityBehind(c.waiting, asked)
	if c.waiting > 0 {
		has = min(has, c.last)
	}
	q.lines[l], q.waiting[request] = crowd{c.waiting + 1, has}, turn{asked, has}
	return has
}

// priorityBehind returns the priority of an Echo that enters a line in which others wait.
func priorityBehind(others, asked int) int {
	switch {
	case others == 0:
		return max(asked, eventPriority)
	case others < few:
		return fewPriority
	case others < many:
		return somePriority
	default:
		return crowdedPriority
	}
}

// leave takes an Echo out of its line. The caller holds the lock.
func (q *fairQueue) leave(request reconcile.Request) {
	p, waits := q.waiting[request]
	if !waits {
		return
	}
	delete(q.waiting, request)
	l := line{request.Namespace, p.asked}
	c := q.lines[l]
	if c.waiting--; c.waiting == 0 {
		delete(q.lines, l)
		return
	}
	q.lines[l] = c
}

// echoEvents returns a handler that adds Echoes by what happened to them, and calls a function with those whose spec is new.
func echoEvents(changed func(client.Object)) handler.EventHandler {
	add := func(q queue, echo client.Object, priority int) {
		if priority > eventPriority {
			changed(echo)
		}
		addEcho(q, echo, priority)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { add(q, e.Object, priorityOfNew(e)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(q, e.ObjectNew, priorityOfUpdate(e)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { add(q, e.Object, eventPriority) },
	}
}

func addEcho(q queue, echo client.Object, priority int) {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(echo)}
	q.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, request)
}

func priorityOfNew(e event.CreateEvent) int {
	if e.IsInInitialList {
		return handler.LowPriority
	}
	return createPriority
}

func priorityOfUpdate(e event.UpdateEvent) int {
	if e.ObjectOld.GetGeneration() == e.ObjectNew.GetGeneration() || !e.ObjectNew.GetDeletionTimestamp().IsZero() {
		return eventPriority
	}
	return changePriority
}
