package companion

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
)

// lastSeen holds the name of each pod's companion when it was last seen, empty if the pod is known to have none. A new process starts with
// nothing, and asks the API server.
type lastSeen struct{ controllers.Memory[string] }

// hidden returns the name of a companion that may exist although the cache does not hold it, because another client may have removed its
// labels. Only two matter: a companion about to be created, and an undesired one whose end was not seen. Without either, the name is empty.
func (l *lastSeen) hidden(pod types.NamespacedName, view *echopod.CompanionState, plan echopod.CompanionPlan) string {
	if plan.Apply != nil && plan.Existing == nil {
		return plan.Apply.Key.Name
	}
	if !plan.None {
		return ""
	}
	name, known := l.Get(pod)
	if !known {
		name = view.Name()
	}
	if view.Has(name) {
		return ""
	}
	return name
}

// record keeps what a reconcile of a pod saw and did, for the next reconcile.
func (l *lastSeen) record(pod types.NamespacedName, view *echopod.CompanionState, plan echopod.CompanionPlan) {
	switch name := view.Name(); {
	case plan.None && view.Owner == nil:
		l.Forget(pod)
	case plan.None:
		l.Set(pod, "")
	case plan.Apply != nil || view.Has(name):
		l.Set(pod, name)
	}
}
