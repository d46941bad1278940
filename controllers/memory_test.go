package controllers_test

import (
	"reflect"
	"testing"

	"github.com/echo-operator/echo-operator/controllers/check"
	"github.com/echo-operator/echo-operator/controllers/companion"
	"github.com/echo-operator/echo-operator/controllers/echo"
	"github.com/echo-operator/echo-operator/controllers/podmonitor"
)

func TestMemories_listsEach(t *testing.T) {
	memory := reflect.TypeFor[interface{ Clear() }]()
	for _, r := range []interface{ Memories() []func() }{
		&echo.Reconciler{}, &check.Reconciler{}, &podmonitor.Reconciler{}, &companion.Reconciler{},
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
