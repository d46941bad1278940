package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/echo-operator/echo-operator/tests/support/specs"
)

// walkers is the number of concurrent walks. Each walk has its own operator.
const walkers = 6

// TestWalk takes random steps. After each step, the Echo must match a fresh Echo with the same spec.
func TestWalk(t *testing.T) {
	s := startServer(t)
	schema, err := specs.Read("../../../config/crd/bases/example.com_echoes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	counted := &tally{}
	t.Run("walkers", func(t *testing.T) {
		for i := range walkers {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					w := newWalk(t, s, schema, counted)
					t.Repeat(w.actions())
				})
			})
		}
	})
	t.Log(counted)
}

// actions returns the kinds of steps that a walk can take. rapid is more likely to draw a kind whose name comes early in the alphabet.
func (w *walk) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){"": w.check}
	for name, act := range map[string]func(*rapid.T){
		"change a field":                     w.setField,
		"change a field to a boundary":       w.setBoundary,
		"change a field to an invalid value": w.setInvalid,
		"change a whole field":               w.setTopField,
		"clear a field":                      w.unsetField,
		"edit a child":                       w.editChild,
		"edit another child":                 w.editChild,
		"edit the metadata of the Echo":      w.editMetadata,
		"edit the status of the Echo":        w.editStatus,
		"let a fault happen":                 w.arm,
		"lose a child":                       w.deleteChild,
		"pause or resume":                    w.pause,
		"replace the Echo":                   w.recreate,
		"restart the operator":               w.restart,
		"take a child away":                  w.disownChild,
	} {
		actions[name] = func(t *rapid.T) {
			act(t)
			w.counted.step(name)
		}
	}
	return actions
}

// fail ends the walk with the same message each time, so that rapid can look for a shorter walk that fails in the same way.
func (w *walk) fail(t *rapid.T, broken violation) {
	w.counted.note(violations)
	t.Logf("%s\n%s\n\nThe scenario, with an operator that watches %s:\n%s\n", broken.name, broken.details, w.walked,
		strings.Join(w.lines, "\n"))
	t.Fatal(broken.name)
}
