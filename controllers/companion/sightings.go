package companion

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
)

// lastSeen holds, for each pod, the name of the companion that was last observed. The name is empty if the pod is known to have no
// companion. A new process has no names yet, so it asks the API server.
type lastSeen struct{ controllers.Memory[string] }

// hidden returns the name of a companion that may exist even though the cache does not contain it. Such a companion is either about to be
// created or not desired. If there is no such companion, the name is empty.
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

// record stores the name of a pod's companion for the next reconcile.
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
