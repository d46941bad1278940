package controllers

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func newTestQueue(t *testing.T) *fairQueue {
	q := newFairQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Millisecond)).(*fairQueue)
	t.Cleanup(q.ShutDown)
	return q
}

// addMany adds Echoes of a namespace, with a priority, or none.
func addMany(q *fairQueue, namespace string, count int, priority *int) {
	for i := range count {
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("echo-%d", i)}}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, request)
	}
}

// drain takes out all Echoes and returns how many were before the first of a name in a namespace.
func drain(t *testing.T, q *fairQueue, namespace, name string) int {
	t.Helper()
	wanted := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	var order []reconcile.Request
	for q.Len() > 0 {
		request, _ := q.Get()
		q.Done(request)
		order = append(order, request)
	}
	before := slices.Index(order, wanted)
	if before < 0 {
		t.Fatalf("%v was never in the queue", wanted)
	}
	if len(q.waiting)+len(q.lines) > 0 {
		t.Errorf("the empty queue holds %d Echoes and %d lines", len(q.waiting), len(q.lines))
	}
	return before
}

func TestChangeDoesNotWaitForStorm(t *testing.T) {
	const storm = 1000
	for name, c := range map[string]struct {
		storm     *int // the priority of the storm
		namespace string
		single    *int // that of what comes after it
		least     int  // how many go before it
		most      int
	}{
		"a change, new Echoes of the same namespace":       {new(createPriority), "storm", new(changePriority), 0, 0},
		"a change, changes of another namespace":           {new(changePriority), "other", new(changePriority), 0, 1},
		"a change, events of the same namespace":           {nil, "storm", new(changePriority), 0, 0},
		"a new Echo, events of the same namespace":         {nil, "storm", new(createPriority), 0, 0},
		"an event, events of another namespace":            {nil, "other", nil, 0, 1},
		"a change, Echoes that were there at the start":    {new(handler.LowPriority), "storm", new(changePriority), 0, 0},
		"an event, Echoes that were there at the start":    {new(handler.LowPriority), "storm", nil, 0, 0},
		"an event, new Echoes of another namespace":        {new(createPriority), "other", nil, 0, 1},
		"a change, changes of the same namespace: in turn": {new(changePriority), "storm", new(changePriority), storm, storm},
	} {
		q := newTestQueue(t)
		addMany(q, "storm", storm, c.storm)
		single := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: c.namespace, Name: "single"}}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: c.single}, single)
		if before := drain(t, q, c.namespace, "single"); before < c.least || before > c.most {
			t.Errorf("%s: %d go before it, want %d to %d", name, before, c.least, c.most)
		}
	}
}

func TestStormOfNewEchoesLetsEventsThrough(t *testing.T) {
	q := newTestQueue(t)
	add := func(name string, count int, priority *int) {
		for i := range count {
			request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "storm", Name: fmt.Sprintf("%s-%d", name, i)}}
			q.AddWithOpts(priorityqueue.AddOpts{Priority: priority}, request)
		}
	}
	add("first", 500, new(createPriority))
	add("exists", 100, nil)
	add("later", 500, new(createPriority))
	if before := drain(t, q, "storm", "exists-99"); before > 600+many {
		t.Errorf("%d Echoes go before one that exists, although only 599 came before it", before)
	}
}

func TestStormInManyNamespaces(t *testing.T) {
	const namespaces, echoes = 20, 50
	for name, c := range map[string]struct{ storm, single *int }{
		"a new Echo, new ones of others": {new(createPriority), new(createPriority)},
		"a change, changes of others":    {new(changePriority), new(changePriority)},
		"an event, events of others":     {nil, nil},
	} {
		q := newTestQueue(t)
		for i := range namespaces {
			addMany(q, fmt.Sprintf("storm-%d", i), echoes, c.storm)
		}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: c.single}, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "other", Name: "single"}})
		if before := drain(t, q, "other", "single"); before > namespaces {
			t.Errorf("%s: %d go before it, more than one of each namespace", name, before)
		}
	}
}

func TestFewGoBeforeMany(t *testing.T) {
	q := newTestQueue(t)
	addMany(q, "storm", 1000, new(createPriority))
	addMany(q, "some", many-1, new(createPriority))
	addMany(q, "few", few, new(createPriority))
	if before := drain(t, q, "few", fmt.Sprintf("echo-%d", few-1)); before > 3*few {
		t.Errorf("%d go before the last of %d", before, few)
	}
}

func TestNobodyGoesBeforeThoseWhoWaitInItsLine(t *testing.T) {
	q := newTestQueue(t)
	first := types.NamespacedName{Namespace: "ns", Name: "waits"}
	addMany(q, "ns", many, nil)
	q.Add(reconcile.Request{NamespacedName: first})
	for i := range many { // all but one
		request, _ := q.Get()
		q.Done(request)
		if request.NamespacedName == first {
			t.Fatalf("it was %d in the line of %d", i, many+1)
		}
	}
	addMany(q, "ns", 1, nil)
	if request, _ := q.Get(); request.NamespacedName != first {
		t.Errorf("%s goes before the one that waits", request)
	}
}

func TestChangeOfWaitingEcho(t *testing.T) {
	q := newTestQueue(t)
	addMany(q, "ns", 100, nil)
	addMany(q, "ns", 100, nil)
	if len(q.waiting) != 100 || q.Len() != 100 {
		t.Errorf("%d Echoes wait, %d known; want each once", q.Len(), len(q.waiting))
	}
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(changePriority)}, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "echo-99"}})
	if before := drain(t, q, "ns", "echo-99"); before != 0 {
		t.Errorf("%d Echoes go before the one that was changed", before)
	}
}

func TestRetriesHaveNoPrecedence(t *testing.T) {
	q := newTestQueue(t)
	failed := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "failed"}}
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: new(changePriority)}, failed)
	request, priority, _ := q.GetWithPriority()
	if request != failed || priority != eventPriority {
		t.Errorf("%v has the priority %d", request, priority)
	}
	q.AddAfter(failed, time.Millisecond)
	q.Done(failed)
	if request, _ := q.Get(); request != failed {
		t.Errorf("%v, want the Echo that waited for a time", request)
	}
}

func TestDelayedStormIsCrowded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		storm := make([]reconcile.Request, 1000)
		for i := range storm {
			storm[i] = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "storm", Name: fmt.Sprintf("echo-%d", i)}}
			q.AddAfter(storm[i], time.Second)
		}
		q.AddRateLimited(storm[0])
		addMany(q, "storm", 2*many, new(changePriority))
		other := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "other", Name: "single"}}
		q.AddAfter(other, 2*time.Second)
		<-time.After(2 * time.Second)
		synctest.Wait()
		if before := drain(t, q, "other", "single"); before > 2*many+many {
			t.Errorf("%d Echoes go before the one of another namespace", before)
		}
	})
}

func TestEventsDoNotWaitForDelayedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		for i := range 1000 {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("later-%d", i)}}, time.Hour)
		}
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "single"}})
		if _, priority, _ := q.GetWithPriority(); priority != eventPriority {
			t.Errorf("an event has the priority %d because others of its namespace wait for a time", priority)
		}
	})
}

func TestPriorityOfEvents(t *testing.T) {
	q := newTestQueue(t)
	echo := func(change func(*v1.Echo)) *v1.Echo { return storedEcho(change) }
	same := func(*v1.Echo) {}
	changed := func(e *v1.Echo) { e.Generation++ }
	deleted := func(e *v1.Echo) { e.Generation++; e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	changes := 0
	note := func(client.Object) { changes++ }
	update := func(change func(*v1.Echo)) {
		echoEvents(note).Update(t.Context(), event.UpdateEvent{ObjectOld: echo(same), ObjectNew: echo(change)}, q)
	}
	for name, c := range map[string]struct {
		happens func()
		want    int
	}{
		"created": {func() { echoEvents(note).Create(t.Context(), event.CreateEvent{Object: echo(same)}, q) }, createPriority},
		"there at the start": {func() {
			echoEvents(note).Create(t.Context(), event.CreateEvent{Object: echo(same), IsInInitialList: true}, q)
		}, handler.LowPriority},
		"changed":          {func() { update(changed) }, changePriority},
		"metadata changed": {func() { update(func(e *v1.Echo) { e.ResourceVersion = "9"; e.Labels = map[string]string{"a": "b"} }) }, eventPriority},
		"being deleted":    {func() { update(deleted) }, eventPriority},
		"deleted":          {func() { echoEvents(note).Delete(t.Context(), event.DeleteEvent{Object: echo(same)}, q) }, eventPriority},
	} {
		changes = 0
		c.happens()
		request, priority, _ := q.GetWithPriority()
		q.Done(request)
		if isChange := priority > eventPriority; isChange != (changes == 1) {
			t.Errorf("%s: it is noted as %d changes of the spec", name, changes)
		}
		if priority != c.want {
			t.Errorf("%s: priority %d, want %d", name, priority, c.want)
		}
	}
}
