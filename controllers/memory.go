package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory holds a value for some objects, to save requests, reconciles or repeated events. It may be lost at any time, as at a restart: no
// decision depends on it, which the package tests/reliability checks. Its methods may be called concurrently.
type memory[T any] struct {
	lock sync.Mutex
	of   map[types.NamespacedName]T
}

// get returns what is held for an object, and whether there is anything.
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

// Memories returns functions that drop one memory of the reconciler each.
func (r *EchoReconciler) Memories() []func() {
	return []func(){r.own.clear, r.compared.clear, r.unreported.clear, r.failures.clear}
}

// Memories returns functions that drop one memory of the reconciler each.
func (r *CheckReconciler) Memories() []func() { return []func(){r.failures.clear} }

// Memories returns functions that drop one memory of the reconciler each.
func (r *PodMonitorReconciler) Memories() []func() {
	return []func(){r.failures.clear, r.reported.clear}
}

// Memories returns functions that drop one memory of the reconciler each.
func (r *CompanionReconciler) Memories() []func() {
	return []func(){r.failures.clear, r.reported.clear, r.seen.clear}
}
