package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/specs"
)

// walk is a sequence of random steps that change an Echo. Each walk has its own operator, and its own namespace for the Echo. A second
// namespace contains fresh Echoes with the same specs, for comparison.
type walk struct {
	*server
	schema  *specs.Schema
	counted *tally

	walked, fresh string
	operator      *process
	// spec is the Echo's stored spec, and good is the last spec that was not rejected.
	spec, good map[string]any
	// freshOf contains the outcomes of fresh Echoes, by spec.
	freshOf map[string]*outcome
	// foreign contains other clients' additions to objects, by the objects' kind.
	foreign map[string][]foreign
	// uids contains the children's UIDs at the last check. replaced contains the kinds whose objects may have been replaced since the last
	// check.
	uids     map[string]types.UID
	replaced map[string]bool
	// quiet is the number of writes to children at the last check, or -1 if the Echo was not paused then.
	quiet int
	lines []string
}

// foreign is another client's addition to an object. The operator must preserve the addition as long as the object exists.
type foreign struct {
	place
	uid types.UID
}

// outcome is the final state of a fresh Echo.
type outcome struct {
	plain map[string]any
	// reason is why the spec is rejected. If the spec is accepted, reason is empty.
	reason string
}

func newWalk(t *rapid.T, s *server, schema *specs.Schema, counted *tally) *walk {
	w := &walk{server: s, schema: schema, counted: counted, freshOf: map[string]*outcome{}, quiet: -1}
	var err error
	if w.walked, err = s.newNamespace(t.Context(), "walked"); err != nil {
		t.Fatal(err)
	}
	if w.fresh, err = s.newNamespace(t.Context(), "fresh"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w.operator != nil {
			w.operator.end()
		}
		for _, namespace := range []string{w.walked, w.fresh} {
			if err := w.freeAddresses(namespace); err != nil {
				t.Fatal(err)
			}
		}
	})
	w.spec = map[string]any{"replicas": int64(2)}
	w.create(t)
	return w
}

// running starts the operator if necessary, and returns it.
func (w *walk) running() (*process, error) {
	next := &wire{}
	if w.operator != nil {
		if !w.operator.wire.isCut() {
			return w.operator, nil
		}
		w.operator.end()
		next = w.operator.wire.successor()
	}
	var err error
	w.operator, err = w.startOperator(next, w.walked, w.fresh)
	return w.operator, err
}

func (w *walk) create(t *rapid.T) {
	text, err := json.Marshal(w.spec)
	if err != nil {
		t.Fatal(err)
	}
	w.say(`echo '{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": %q}, "spec": %s}' | kubectl -n %s create -f -`,
		echoName, text, w.walked)
	echo := newEcho(w.walked, w.spec)
	if err := w.client.Create(t.Context(), echo); err != nil {
		t.Fatal(err)
	}
	w.accept(echo)
	w.foreign, w.uids, w.replaced, w.quiet = map[string][]foreign{}, map[string]types.UID{}, map[string]bool{}, -1
}

func newEcho(namespace string, spec map[string]any) *object {
	echo := &object{Object: map[string]any{"spec": runtime.DeepCopyJSON(spec)}}
	echo.SetGroupVersionKind(v1.GroupVersion.WithKind("Echo"))
	echo.SetNamespace(namespace)
	echo.SetName(echoName)
	return echo
}

// accept records the stored spec as the walk's spec.
func (w *walk) accept(echo *object) { w.spec, _ = echo.DeepCopy().Object["spec"].(map[string]any) }

// say adds a line to the record that fail prints.
func (w *walk) say(format string, arguments ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, arguments...))
}

func (w *walk) isPaused() bool { return w.spec["paused"] == true }

// check checks the operator's promises after a step.
func (w *walk) check(t *rapid.T) {
	now := w.settleWalked(t)
	if now.echo == nil {
		w.fail(t, violation{"the Echo no longer exists", ""})
	}
	if w.isPaused() {
		w.checkPaused(t, now)
		return
	}
	w.quiet = -1
	fresh := w.outcomeOf(t, w.spec)
	if fresh.reason != "" {
		w.checkRefused(t, now, fresh)
		now, fresh = w.goBack(t)
	}
	w.good = w.spec
	w.compare(t, now, fresh)
	w.uids, w.replaced = now.uids(), map[string]bool{}
}

// settleWalked waits until there is nothing left to do for the Echo.
func (w *walk) settleWalked(t *rapid.T) *state {
	now, err := w.settle(t.Context(), w.walked, w.running)
	w.expectNoError(t, err)
	return now
}

// expectNoError ends the walk if there is an error, which may be a violation.
func (w *walk) expectNoError(t *rapid.T, err error) {
	broken, rest := violation{}, unrest{}
	switch {
	case err == nil:
	case errors.As(err, &broken):
		w.fail(t, broken)
	case errors.As(err, &rest):
		w.fail(t, violation{"the operator does not come to rest", rest.why})
	default:
		t.Fatalf("the walk cannot continue: %v", err)
	}
}

// outcomeOf returns the outcome of a fresh Echo with a spec.
func (w *walk) outcomeOf(t *rapid.T, spec map[string]any) *outcome {
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	if known := w.freshOf[string(text)]; known != nil {
		return known
	}
	if err := w.client.Create(t.Context(), newEcho(w.fresh, spec)); err != nil {
		t.Fatalf("a fresh Echo is rejected: %v", err)
	}
	now, err := w.settle(t.Context(), w.fresh, w.running)
	w.expectNoError(t, err)
	result := &outcome{}
	if result.plain, err = now.plain(); err != nil {
		t.Fatal(err)
	}
	if isRefused(now.echo) {
		result.reason, _ = condition(now.echo, v1.ConditionDegraded)["reason"].(string)
	}
	w.freshOf[string(text)] = result
	w.remove(t, w.fresh, metav1.DeletePropagationBackground)
	return result
}

// remove deletes an Echo, and waits until it is gone.
func (w *walk) remove(t *rapid.T, namespace string, propagation metav1.DeletionPropagation) *state {
	err := w.client.Delete(t.Context(), newEcho(namespace, nil), client.PropagationPolicy(propagation))
	if err != nil {
		t.Fatal(err)
	}
	now, err := w.settle(t.Context(), namespace, w.running)
	w.expectNoError(t, err)
	return now
}

// checkRefused checks that the Echo's status gives the same reason for rejecting the spec as the status of a fresh Echo.
func (w *walk) checkRefused(t *rapid.T, now *state, fresh *outcome) {
	degraded := condition(now.echo, v1.ConditionDegraded)
	if !isRefused(now.echo) || degraded["reason"] != fresh.reason || degraded["message"] == "" {
		w.fail(t, violation{"the status does not report that the spec is rejected", fmt.Sprintf("want reason %s: %v", fresh.reason, degraded)})
	}
	w.counted.note("specs that the schema accepts but the operator or the API server rejects")
}

// goBack restores the last spec that was not rejected.
func (w *walk) goBack(t *rapid.T) (*state, *outcome) {
	if refusal := w.patchSpec(t, "", w.good); refusal != "" {
		t.Fatalf("the last good spec is rejected: %s", refusal)
	}
	return w.settleWalked(t), w.outcomeOf(t, w.spec)
}

// checkPaused checks that the status reports that the Echo is paused, and that the operator has not written to the Echo's children.
func (w *walk) checkPaused(t *rapid.T, now *state) {
	progressing := condition(now.echo, v1.ConditionProgressing)
	if !isRefused(now.echo) && (progressing["reason"] != v1.ReasonPaused.String() ||
		progressing["observedGeneration"] != now.echo.GetGeneration()) {
		w.fail(t, violation{"the status does not report that the Echo is paused", fmt.Sprint(progressing)})
	}
	written := w.operator.wire.writes(w.walked)
	if w.quiet >= 0 && written > w.quiet {
		w.fail(t, violation{"a child of a paused Echo was changed", ""})
	}
	w.quiet = written
	w.uids = map[string]types.UID{}
}

// compare checks that, except for additions by other clients, the Echo matches a fresh Echo with the same spec.
func (w *walk) compare(t *rapid.T, now *state, fresh *outcome) {
	for kind, uid := range now.uids() {
		if w.uids[kind] != "" && w.uids[kind] != uid && !w.replaced[kind] {
			w.fail(t, violation{"the " + kind + " was replaced without a reason", ""})
		}
	}
	plain, err := now.plain()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range now.all() {
		for _, f := range w.foreign[o.GetKind()] {
			if f.uid == o.GetUID() && !f.takeOut(plain[o.GetKind()]) {
				w.fail(t, violation{"another client's addition to the " + o.GetKind() + " is gone", fmt.Sprint(f.place)})
			}
		}
	}
	for _, kind := range []string{"Service", "Deployment", "PodDisruptionBudget", "Ingress", "NetworkPolicy", "Echo"} {
		if diff := cmp.Diff(fresh.plain[kind], plain[kind]); diff != "" {
			w.fail(t, violation{"the " + kind + " differs from the one of a fresh Echo", "- fresh, + walked:\n" + diff})
		}
	}
	if len(plain) != len(fresh.plain) {
		w.fail(t, violation{"there are other objects than for a fresh Echo", fmt.Sprint(plain)})
	}
}

// takeOut removes an addition from an object, and reports whether the object contained it.
func (p place) takeOut(plain any) bool {
	at, _ := plain.(map[string]any)
	for _, part := range p.path[:len(p.path)-1] {
		at, _ = at[part].(map[string]any)
	}
	last := p.path[len(p.path)-1]
	if list, isList := at[last].([]any); isList {
		var others []any
		for _, item := range list {
			if item.(map[string]any)[p.field] != p.value {
				others = append(others, item)
			}
		}
		at[last] = others
		if len(others) == 0 { // the API server does not store an empty list
			delete(at, last)
		}
		return len(others) < len(list)
	}
	held, _ := at[last].(map[string]any)
	_, found := held[p.field]
	delete(held, p.field)
	if len(held) == 0 {
		at[last] = nil
	}
	return found
}
