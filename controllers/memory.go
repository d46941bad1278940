package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memory holds values for objects, to avoid unnecessary requests, reconciles, or events. It may be lost at any time, for example when the
// operator restarts. No decision depends on a Memory, as the tests in tests/reliability show. Its methods may be called concurrently.
type Memory[T any] struct {
	lock sync.Mutex
	of   map[types.NamespacedName]T
}

// Get returns the value held for an object, and whether there is one.
func (m *Memory[T]) Get(object types.NamespacedName) (T, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	value, found := m.of[object]
	return value, found
}

func (m *Memory[T]) Set(object types.NamespacedName, value T) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[object] = value
}

func (m *Memory[T]) Forget(object types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.of, object)
}

// Clear drops all values.
func (m *Memory[T]) Clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.of = nil
}

// LastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type LastReports struct{ Memory[string] }

// Replace records the last report about an object, and returns whether the report is new.
func (l *LastReports) Replace(object types.NamespacedName, said string) bool {
	last, _ := l.Get(object)
	if said == "" {
		l.Forget(object)
	} else {
		l.Set(object, said)
	}
	return last != said
}
