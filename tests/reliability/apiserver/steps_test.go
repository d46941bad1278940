package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/specs"
)

func (w *walk) setField(t *rapid.T) {
	f := specs.DrawField(t, w.schema)
	w.set(t, f, specs.DrawValue(t, f))
}

func (w *walk) setTopField(t *rapid.T) {
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(w.schema.Properties))).Draw(t, "field")
	property := w.schema.Properties[name]
	f := specs.Field{Path: []string{name}, Schema: &property}
	w.set(t, f, specs.DrawValue(t, f))
}

// set sets a field and the fields that it requires.
func (w *walk) set(t *rapid.T, f specs.Field, value any) {
	next := runtime.DeepCopyJSON(w.spec)
	specs.Put(next, f.Path, value)
	specs.AddRequired(next)
	w.skipAmbiguous(t, next)
	w.patchSpec(t, f.Path[0], next)
}

// skipAmbiguous skips a change to the name of the Service's port while the Echo is paused, for the reason that edit.fits gives.
func (w *walk) skipAmbiguous(t *rapid.T, next map[string]any) {
	if w.isPaused() && portNameOf(w.spec) != portNameOf(next) {
		t.SkipNow()
	}
}

// patchSpec copies the named field from another spec to the Echo, or all fields if the name is empty. It returns the API server's reason
// for rejecting the patch, or "".
func (w *walk) patchSpec(t *rapid.T, name string, next map[string]any) string {
	change := map[string]any{"op": "add", "path": "/spec/" + name, "value": next[name]}
	switch value, set := next[name]; {
	case name == "":
		change = map[string]any{"op": "replace", "path": "/spec", "value": next}
	case !set || value == nil:
		change = map[string]any{"op": "remove", "path": "/spec/" + name}
	}
	err := w.patchEcho(t, change)
	if apierrors.IsInvalid(err) {
		w.counted.note("changes that the API server rejects")
		w.lines = w.lines[:len(w.lines)-1]
		if !strings.Contains(err.Error(), "spec") {
			w.fail(t, violation{"the API server rejects a value without naming a field", err.Error()})
		}
		return err.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

// patchEcho changes the Echo with a JSON patch that has one operation.
func (w *walk) patchEcho(t *rapid.T, change map[string]any) error {
	text, err := json.Marshal([]any{change})
	if err != nil {
		t.Fatal(err)
	}
	w.say("kubectl -n %s patch echo %s --type=json -p '%s'", w.walked, echoName, text)
	before := w.spec
	echo := newEcho(w.walked, nil)
	if err := w.client.Patch(t.Context(), echo, client.RawPatch(types.JSONPatchType, text)); err != nil {
		return err
	}
	w.accept(echo)
	if !sameClass(before, w.spec, "ingress", "className") {
		w.replaced["Ingress"] = true
	}
	for _, name := range []string{"loadBalancerClass", "ipFamilies", "ipFamilyPolicy"} {
		if !sameClass(before, w.spec, "service", name) {
			w.replaced["Service"] = true
		}
	}
	for _, kind := range []string{"Ingress", "NetworkPolicy", "PodDisruptionBudget"} {
		if wanted, known := isWanted(w.spec, kind), w.uids[kind] != ""; !wanted && known {
			w.replaced[kind] = true
		}
	}
	return nil
}

// sameClass reports whether two specs have the same value in a field such as the Ingress class, the load balancer class, or the IP
// families. If the values differ, the operator may replace the object.
func sameClass(before, after map[string]any, part, class string) bool {
	a, _ := before[part].(map[string]any)
	b, _ := after[part].(map[string]any)
	return reflect.DeepEqual(a[class], b[class])
}

// isWanted reports whether a spec requires a kind of child.
func isWanted(spec map[string]any, kind string) bool {
	part := map[string]string{"Ingress": "ingress", "NetworkPolicy": "networkPolicy", "PodDisruptionBudget": "disruptionBudget"}[kind]
	if part == "" {
		return true
	}
	given, _ := spec[part].(map[string]any)
	if kind == "PodDisruptionBudget" {
		replicas, _ := spec["replicas"].(int64)
		maxUnavailable, _ := given["maxUnavailable"].(int64)
		return given["enabled"] == true && replicas > maxUnavailable
	}
	return given["enabled"] == true
}

func (w *walk) unsetField(t *rapid.T) {
	names := slices.Sorted(maps.Keys(w.spec))
	if len(names) == 0 {
		t.SkipNow()
	}
	name := rapid.SampledFrom(names).Draw(t, "field")
	next := runtime.DeepCopyJSON(w.spec)
	if inner, isObject := next[name].(map[string]any); isObject && len(inner) > 0 && rapid.Bool().Draw(t, "a part") {
		delete(inner, rapid.SampledFrom(slices.Sorted(maps.Keys(inner))).Draw(t, "part"))
	} else {
		delete(next, name)
	}
	w.skipAmbiguous(t, next)
	w.patchSpec(t, name, next)
}

func (w *walk) setBoundary(t *rapid.T) {
	f := specs.DrawField(t, w.schema)
	w.set(t, f, specs.DrawBoundary(t, f))
}

// setInvalid sets a field to a value that the schema rejects. The error must name the field, and nothing may change.
func (w *walk) setInvalid(t *rapid.T) {
	f := specs.DrawField(t, w.schema)
	value := specs.DrawInvalid(t, f)
	next := runtime.DeepCopyJSON(w.spec)
	specs.Put(next, f.Path, value)
	refusal := w.patchSpec(t, f.Path[0], next)
	if refusal == "" {
		w.fail(t, violation{"the API server accepts a value that the schema rejects", fmt.Sprintf("%s: %v", f, value)})
	}
	if !strings.Contains(refusal, f.String()) {
		w.fail(t, violation{"the rejection of a value does not name its field", fmt.Sprintf("%s: %s", f, refusal)})
	}
}

func (w *walk) pause(t *rapid.T) {
	next := runtime.DeepCopyJSON(w.spec)
	next["paused"] = !w.isPaused()
	w.patchSpec(t, "paused", next)
}

// drawChild draws a kind of child that the spec requires.
func (w *walk) drawChild(t *rapid.T) string {
	var kinds []string
	for _, kind := range []string{"Service", "Deployment", "PodDisruptionBudget", "Ingress", "NetworkPolicy"} {
		if isWanted(w.spec, kind) {
			kinds = append(kinds, kind)
		}
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")
}

// child returns a child, or nil if it does not exist.
func (w *walk) child(t *rapid.T, kind string) *object {
	now, err := w.read(t.Context(), w.walked)
	if err != nil {
		t.Fatal(err)
	}
	return now.children[kind]
}

func (w *walk) editChild(t *rapid.T) {
	kind := w.drawChild(t)
	fitting := slices.DeleteFunc(edits(kind), func(e edit) bool { return !e.fits(w.spec) })
	e := rapid.SampledFrom(fitting).Draw(t, "edit")
	child := w.child(t, kind)
	if child == nil {
		return
	}
	e = e.aimed(child, w.spec)
	err := w.client.Patch(t.Context(), child, client.RawPatch(e.patchType, []byte(e.patch)), client.FieldOwner("kubectl-patch"))
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err):
		w.counted.note("edits of children that the API server rejects")
		return
	case err != nil:
		t.Fatal(err)
	}
	w.say("%s", e.command(w.walked))
	if e.removes {
		w.foreign[kind] = slices.DeleteFunc(w.foreign[kind], func(f foreign) bool { return f.path[0] == "labels" })
	}
	if e.kept != nil {
		w.keep(kind, foreign{*e.kept, child.GetUID()})
	}
}

func (w *walk) deleteChild(t *rapid.T) {
	kind := w.drawChild(t)
	order := rapid.SampledFrom([]metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan}).Draw(t, "order")
	if child := w.child(t, kind); child != nil {
		w.deleteNow(t, child, order)
	}
}

func (w *walk) deleteNow(t *rapid.T, child *object, order metav1.DeletionPropagation) {
	w.say("kubectl -n %s delete %s %s --cascade=%s", w.walked, child.GetKind(), echoName, strings.ToLower(string(order)))
	if err := w.client.Delete(t.Context(), child, client.PropagationPolicy(order)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	w.replaced[child.GetKind()] = true
}
