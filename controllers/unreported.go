package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/status"
)

// unreported holds the changes to the children of each Echo that no event has reported yet, because the pass that made them could not
// write the status. Its methods may be called concurrently.
type unreported struct {
	lock   sync.Mutex
	passes map[types.NamespacedName]unreportedChanges
}

type unreportedChanges struct {
	changes []status.Change
	// generations are those that the API server last answered for the objects that the operator changed.
	generations map[types.UID]int64
}

// add returns the changes of a pass after those that were not reported before it. A change that the API server has answered before is
// left out: the cache did not hold it yet, so that the pass made it again.
func (u *unreported) add(echo types.NamespacedName, made []status.Change) []status.Change {
	u.lock.Lock()
	defer u.lock.Unlock()
	known := u.passes[echo]
	for _, change := range made {
		uid, generation := change.After.GetUID(), change.After.GetGeneration()
		if last, seen := known.generations[uid]; seen && generation != 0 && generation == last {
			continue
		}
		if known.generations == nil {
			known.generations = map[types.UID]int64{}
		}
		known.generations[uid] = generation
		known.changes = append(known.changes, change)
	}
	if known.changes != nil {
		u.put(echo, known)
	}
	return known.changes
}

// done forgets the changes to the children of an Echo, which are reported now.
func (u *unreported) done(echo types.NamespacedName) {
	u.lock.Lock()
	defer u.lock.Unlock()
	if known, found := u.passes[echo]; found {
		known.changes = nil
		u.put(echo, known)
	}
}

// forget drops what is known about an Echo that is gone.
func (u *unreported) forget(echo types.NamespacedName) {
	u.lock.Lock()
	defer u.lock.Unlock()
	delete(u.passes, echo)
}

func (u *unreported) put(echo types.NamespacedName, known unreportedChanges) {
	if u.passes == nil {
		u.passes = map[types.NamespacedName]unreportedChanges{}
	}
	u.passes[echo] = known
}
