package support

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
