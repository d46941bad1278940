package echo

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/controllers/echo/queue"
)

// memory holds all state that is kept between reconciles.
type memory struct {
	failures     controllers.Failures
	pending      pendingEvents
	expectations queue.Expectations
	upToDate     queue.UpToDate
}

// forget drops the state of an Echo that is gone.
func (m *memory) forget(echo types.NamespacedName) {
	m.failures.End(echo, nil)
	m.expectations.Forget(echo)
	m.upToDate.Forget(echo)
	m.pending.Forget(echo)
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *Reconciler) Memories() []func() {
	m := &r.memory
	return []func(){m.expectations.Clear, m.upToDate.Clear, m.pending.Clear, m.failures.Clear}
}
