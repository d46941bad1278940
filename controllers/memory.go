package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory holds values for objects, to avoid or delay requests, reconciles, or events. It may be lost at any time, for example when the
// operator restarts: the outcome is the same, as the tests in tests/reliability show. Its methods may be called concurrently.
type memory[T any] struct{ of sync.Map }

// get returns the value held for an object, or the zero value if there is none.
func (m *memory[T]) get(object types.NamespacedName) T {
	held, _ := m.of.Load(object)
	value, _ := held.(T)
	return value
}

func (m *memory[T]) set(object types.NamespacedName, value T) { m.of.Store(object, value) }

func (m *memory[T]) forget(object types.NamespacedName) { m.of.Delete(object) }

func (m *memory[T]) clear() { m.of.Clear() }

// lastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type lastReports struct{ memory[string] }

// replace records the last report about an object, and returns whether the report is new.
func (l *lastReports) replace(object types.NamespacedName, said string) bool {
	last := l.get(object)
	if said == "" {
		l.forget(object)
	} else {
		l.set(object, said)
	}
	return last != said
}
