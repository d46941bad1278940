package controllers

import (
	"reflect"
	"testing"
)

func TestMemories_listsEach(t *testing.T) {
	memory := reflect.TypeFor[interface{ clear() }]()
	for _, r := range []interface{ Memories() []func() }{
		&EchoReconciler{}, &CheckReconciler{}, &PodMonitorReconciler{}, &CompanionReconciler{},
	} {
		want := 0
		for field := range reflect.TypeOf(r).Elem().Fields() {
			if reflect.PointerTo(field.Type).Implements(memory) {
				want++
			}
		}
		if got := len(r.Memories()); got != want || want == 0 {
			t.Errorf("%T drops %d memories, and has %d", r, got, want)
		}
	}
}
