package support

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Notes returns matchers for texts. A final * matches the rest of a text, such as a message of another component.
func Notes(texts ...string) []any {
	matchers := []any{}
	for _, text := range texts {
		if beginning, hasMore := strings.CutSuffix(text, "*"); hasMore {
			matchers = append(matchers, HavePrefix(beginning))
		} else {
			matchers = append(matchers, Equal(text))
		}
	}
	return matchers
}

// EventsOf returns an object's events, ordered by time.
func EventsOf(ctx context.Context, g Gomega, c client.Client, object client.Object) []eventsv1.Event {
	list := &eventsv1.EventList{}
	g.Expect(c.List(ctx, list, client.InNamespace(object.GetNamespace()))).To(Succeed())
	events := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != object.GetUID() })
	slices.SortStableFunc(events, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return events
}
