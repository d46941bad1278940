package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Updates contains updates to objects, by name. Each update records whether a predicate should select it.
type Updates map[string]struct {
	Before, After client.Object
	Selected      bool
}

// Check fails a test if a predicate does not select exactly the updates that it should.
func (u Updates) Check(t *testing.T, selects predicate.Predicate) {
	t.Helper()
	for name, c := range u {
		selected := selects.Update(event.UpdateEvent{ObjectOld: c.Before, ObjectNew: c.After})
		NewWithT(t).Expect(selected).To(Equal(c.Selected), name)
	}
}
