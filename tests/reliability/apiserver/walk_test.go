package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
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
	delete(schema.Properties, "paused") // a fresh Echo that is paused has no objects
	var steps atomic.Int64
	t.Run("walkers", func(t *testing.T) {
		for i := range walkers {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					w := newWalk(t, s, schema)
					actions := map[string]func(*rapid.T){"": w.check}
					for name, act := range map[string]func(*rapid.T){"change a field": w.setField, "change the spec": w.setSpec,
						"clear a field": w.clearField, "lose a child": w.loseChild, "replace the Echo": w.replace,
						"restart the operator": w.restart} {
						actions[name] = func(t *rapid.T) { act(t); steps.Add(1) }
					}
					t.Repeat(actions)
				})
			})
		}
	})
	t.Logf("%d steps", steps.Load())
}

// walk is a sequence of random steps that change an Echo. Each walk has its own operator, and its own namespace for the Echo. A second
// namespace contains fresh Echoes with the same specs, for comparison.
type walk struct {
	*server
	schema        *specs.Schema
	walked, fresh string
	operator      *process
	// spec is the Echo's stored spec, and good is the last spec that was not rejected.
	spec, good map[string]any
	// ends contains the final states of fresh Echoes, by spec.
	ends map[string]end
}

// end is the final state of an Echo.
type end struct {
	plain map[string]any
	// reason is why the spec is rejected. If the spec is accepted, reason is empty.
	reason string
}

func newWalk(t *rapid.T, s *server, schema *specs.Schema) *walk {
	w := &walk{server: s, schema: schema, ends: map[string]end{}, spec: map[string]any{"replicas": int64(2)}}
	for name, namespace := range map[string]*string{"walked": &w.walked, "fresh": &w.fresh} {
		var err error
		if *namespace, err = s.newNamespace(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	w.start(t)
	t.Cleanup(func() { w.operator.end() })
	w.create(t)
	return w
}

func (w *walk) start(t *rapid.T) {
	p, err := w.startOperator(w.walked, w.fresh)
	if err != nil {
		t.Fatal(err)
	}
	w.operator = p
}

func newEcho(namespace string, spec map[string]any) *object {
	echo := &object{Object: map[string]any{"spec": runtime.DeepCopyJSON(spec)}}
	echo.SetGroupVersionKind(v1.GroupVersion.WithKind("Echo"))
	echo.SetNamespace(namespace)
	echo.SetName(echoName)
	return echo
}

func (w *walk) create(t *rapid.T) {
	t.Logf("create the Echo: %s", marshal(t, w.spec))
	echo := newEcho(w.walked, w.spec)
	if err := w.client.Create(t.Context(), echo); err != nil {
		t.Fatal(err)
	}
	w.spec, _ = echo.Object["spec"].(map[string]any)
}

func marshal(t *rapid.T, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fail ends the walk with the same message each time, so that rapid can look for a shorter walk that fails in the same way.
func fail(t *rapid.T, problem, details string) {
	t.Log(details)
	t.Fatal(problem)
}

// rested waits until there is nothing left to do in a namespace, and returns its state.
func (w *walk) rested(t *rapid.T, namespace string) *state {
	now, err := w.settle(t.Context(), w.operator, namespace)
	if err != nil {
		problem, details, _ := strings.Cut(err.Error(), ": ")
		fail(t, problem, details)
	}
	return now
}

// endOf returns the final state of the Echo in a namespace.
func (w *walk) endOf(t *rapid.T, namespace string) end {
	now := w.rested(t, namespace)
	if now.echo == nil {
		t.Fatal("the Echo no longer exists")
	}
	plain, err := now.plain()
	if err != nil {
		t.Fatal(err)
	}
	return end{plain, now.refusal()}
}

// check compares the Echo with a fresh Echo that has the same spec. If that spec is rejected, check restores the last spec that was not.
func (w *walk) check(t *rapid.T) {
	now, fresh := w.endOf(t, w.walked), w.freshEnd(t)
	if now.reason != fresh.reason {
		fail(t, "the status gives another reason than that of a fresh Echo", fmt.Sprintf("%q, not %q", now.reason, fresh.reason))
	}
	if fresh.reason != "" {
		w.patch(t, map[string]any{"op": "replace", "path": "/spec", "value": w.good})
		now, fresh = w.endOf(t, w.walked), w.freshEnd(t)
	}
	w.good = w.spec
	if diff := cmp.Diff(fresh.plain, now.plain); diff != "" {
		fail(t, "the objects differ from those of a fresh Echo", "- fresh, + walked:\n"+diff)
	}
}

// freshEnd returns the final state of a fresh Echo that has the walk's spec.
func (w *walk) freshEnd(t *rapid.T) end {
	key := marshal(t, w.spec)
	known, found := w.ends[key]
	if !found {
		if err := w.client.Create(t.Context(), newEcho(w.fresh, w.spec)); err != nil {
			t.Fatalf("a fresh Echo is rejected: %v", err)
		}
		known = w.endOf(t, w.fresh)
		w.ends[key] = known
		w.remove(t, w.fresh)
	}
	return known
}

// remove deletes an Echo, and waits until it and its objects are gone.
func (w *walk) remove(t *rapid.T, namespace string) {
	if err := w.client.Delete(t.Context(), newEcho(namespace, nil)); err != nil {
		t.Fatal(err)
	}
	if left := w.rested(t, namespace).all(); len(left) > 0 {
		fail(t, "objects of a deleted Echo remain", marshal(t, left))
	}
}

// patch changes the Echo with a JSON patch that has one operation. If the API server rejects the patch, its message must name a field.
func (w *walk) patch(t *rapid.T, change map[string]any) {
	text := marshal(t, []any{change})
	echo := newEcho(w.walked, nil)
	err := w.client.Patch(t.Context(), echo, client.RawPatch(types.JSONPatchType, []byte(text)))
	switch {
	case apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec"):
		return
	case err != nil:
		fail(t, "the API server rejects a patch without naming a field", text+"\n"+err.Error())
	}
	t.Logf("patch the Echo: %s", text)
	w.spec, _ = echo.Object["spec"].(map[string]any)
}

func (w *walk) setField(t *rapid.T) {
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.schema.Properties))).Draw(t, "field")
	property := w.schema.Properties[name]
	next := runtime.DeepCopyJSON(w.spec)
	next[name] = specs.DrawValue(t, specs.Field{Path: []string{name}, Schema: &property})
	specs.AddRequired(next)
	w.patch(t, map[string]any{"op": "replace", "path": "/spec", "value": next})
}

func (w *walk) setSpec(t *rapid.T) {
	w.patch(t, map[string]any{"op": "replace", "path": "/spec", "value": specs.Draw(t, w.schema, 5)})
}

func (w *walk) clearField(t *rapid.T) {
	names := slices.Sorted(maps.Keys(w.spec))
	if len(names) == 0 {
		t.SkipNow()
	}
	w.patch(t, map[string]any{"op": "remove", "path": "/spec/" + rapid.SampledFrom(names).Draw(t, "field")})
}

func (w *walk) loseChild(t *rapid.T) {
	now, err := w.read(t.Context(), w.walked)
	if err != nil {
		t.Fatal(err)
	}
	lost := now.children[rapid.IntRange(0, len(now.children)-1).Draw(t, "child")]
	t.Logf("delete the %s", lost.GetKind())
	background := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if err := w.client.Delete(t.Context(), lost, background); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

func (w *walk) replace(t *rapid.T) {
	t.Log("delete the Echo")
	w.remove(t, w.walked)
	w.create(t)
}

// restart kills the operator and starts it again.
func (w *walk) restart(t *rapid.T) {
	t.Log("restart the operator")
	w.operator.end()
	w.start(t)
}
