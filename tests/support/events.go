package support

import (
	"context"
	"slices"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EventsOf returns an object's events, ordered by time.
func EventsOf(ctx context.Context, g Gomega, c client.Client, object client.Object) []eventsv1.Event {
	list := &eventsv1.EventList{}
	g.Expect(c.List(ctx, list, client.InNamespace(object.GetNamespace()))).To(Succeed())
	events := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != object.GetUID() })
	slices.SortStableFunc(events, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return events
}
