package support

import (
	"context"
	"reflect"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
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

// EventuallyObject polls an object from the API server. It reads into a new object each time, because a reused object would keep the values
// of fields that are now absent.
func EventuallyObject(ctx context.Context, c client.Client, object client.Object) AsyncAssertion {
	return Eventually(func(ctx context.Context) (client.Object, error) {
		now := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		return now, c.Get(ctx, client.ObjectKeyFromObject(object), now)
	}).WithContext(ctx)
}

// Record watches objects until the caller calls the returned function. That function returns all observed states of the objects, in order.
// Unlike polling, Record does not miss short-lived states.
func Record[O client.Object, S any](ctx context.Context, c client.WithWatch, list client.ObjectList, see func(O) S,
	which ...client.ListOption) func() []S {
	GinkgoHelper()
	watching, err := c.Watch(ctx, list, which...)
	Expect(err).NotTo(HaveOccurred())
	ended := make(chan []S, 1)
	go func() {
		var seen []S
		for event := range watching.ResultChan() {
			object, ok := event.Object.(O)
			if !ok { // the event contains an error
				break
			}
			seen = append(seen, see(object))
		}
		ended <- seen
	}()
	return func() []S {
		GinkgoHelper()
		Expect(ended).NotTo(Receive(), "the watch has ended unexpectedly")
		watching.Stop()
		return <-ended
	}
}
