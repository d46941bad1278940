package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

// byEvent returns a delay that depends on the kind of event.
func byEvent(before, after client.Object) time.Duration {
	switch {
	case before == nil:
		return Gathered
	case after == nil:
		return Soon
	default:
		return 0
	}
}

// handlerUnderTest is a handler with its queue.
type handlerUnderTest struct {
	handler handler.EventHandler
	q       priorityqueue.PriorityQueue[reconcile.Request]
}

func TestAfter(t *testing.T) {
	create := func(h handlerUnderTest) {
		h.handler.Create(t.Context(), event.CreateEvent{Object: fakecluster.EchoPod()}, h.q)
	}
	update := func(h handlerUnderTest) {
		h.handler.Update(t.Context(), event.UpdateEvent{ObjectOld: fakecluster.EchoPod(), ObjectNew: fakecluster.EchoPod()}, h.q)
	}
	remove := func(h handlerUnderTest) {
		h.handler.Delete(t.Context(), event.DeleteEvent{Object: fakecluster.EchoPod()}, h.q)
	}
	for name, c := range map[string]struct {
		events []func(handlerUnderTest)
		want   time.Duration
	}{
		"new":                  {[]func(handlerUnderTest){create}, Gathered},
		"new twice":            {[]func(handlerUnderTest){create, create}, Gathered},
		"gone":                 {[]func(handlerUnderTest){remove}, Soon},
		"changed":              {[]func(handlerUnderTest){update}, 0},
		"new and gone":         {[]func(handlerUnderTest){create, remove}, Soon},
		"gone and new":         {[]func(handlerUnderTest){remove, create}, Soon},
		"new, gone, changed":   {[]func(handlerUnderTest){create, remove, update}, 0},
		"changed, and not new": {[]func(handlerUnderTest){update, create}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, began := handlerUnderTest{q: newTestQueue(t), handler: After(byEvent, func(context.Context, client.Object) []reconcile.Request {
				return controllers.RequestsFor("ns", "x")
			})}, time.Now()
			for _, each := range c.events {
				each(h)
			}
			want := controllers.RequestsFor("ns", "x")[0]
			if request, _ := h.q.Get(); request != want || time.Since(began) != c.want {
				t.Errorf("%s: %v after %s, want %s", name, request, time.Since(began), c.want)
			}
			h.q.Done(want)
			<-time.After(2 * Gathered)
			NewWithT(t).Expect(h.q.Len()).To(BeZero(), "%s: an event starts a reconcile of its own", name)
		})
	}
}
