package controllers

import (
	"reflect"
	"testing"
)

func TestMemories_listsEach(t *testing.T) {
	memory := reflect.TypeFor[interface{ Clear() }]()
	for _, r := range []interface{ Memories() []func() }{
		&EchoReconciler{}, &CheckReconciler{}, &PodMonitorReconciler{}, &CompanionReconciler{},
	} {
		want := count(reflect.TypeOf(r).Elem(), memory)
		if got := len(r.Memories()); got != want || want == 0 {
			t.Errorf("%T drops %d memories, and has %d", r, got, want)
		}
	}
}

// count returns how many fields of a type are memories.
func count(of, memory reflect.Type) int {
	n := 0
	for field := range of.Fields() {
		switch {
		case reflect.PointerTo(field.Type).Implements(memory):
			n++
		case field.Name == "memory":
			n += count(field.Type, memory)
		}
	}
	return n
}
