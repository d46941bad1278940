package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory holds values for objects, to avoid or delay requests, reconciles, or events. It may be lost at any time, for example when the
// operator restarts: the outcome is the same, as the tests in tests/reliability show. Its methods may be called concurrently.
type memory[T any] struct {
	lock sync.Mutex
	of   map[types.NamespacedName]T
}

// get returns the value held for an object, and whether there is one.
func (m *memory[T]) get(object types.NamespacedName) (T, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	value, found := m.of[object]
	return value, found
}

func (m *memory[T]) set(object types.NamespacedName, value T) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]T{}
	}
	m.of[object] = value
}

func (m *memory[T]) forget(object types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.of, object)
}

// clear drops all values.
func (m *memory[T]) clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.of = nil
}

// lastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type lastReports struct{ memory[string] }

// replace records the last report about an object, and returns whether the report is new.
func (l *lastReports) replace(object types.NamespacedName, said string) bool {
	last, _ := l.get(object)
	if said == "" {
		l.forget(object)
	} else {
		l.set(object, said)
	}
	return last != said
}
