package reliability

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/echo-operator/echo-operator/tests/support"
)

// foreigners returns the faults that another client causes just before a request. Faults that the operator must correct happen only while
// the operator works on the Echo.
func foreigners() []fault {
	return []fault{
		{name: "the next step", foreign: func(s *simulation, _ call) {
			if !s.ordered {
				s.step()
			}
		}},
		{name: "the object deleted", foreign: func(s *simulation, to call) {
			if o := s.get(to.objectKey); o != nil && isOperators(o) && metav1.GetControllerOf(o) != nil {
				s.drop(to.objectKey)
			}
		}},
		{name: "the object replaced", promises: true, foreign: replace},
		{name: "the Echo changed and restored", foreign: active(changeAndBack)},
		{name: "the Echo created again", foreign: active(createAgain)},
		{name: "the finalizer removed", foreign: active(func(s *simulation) {
			s.edit(echoKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
		})},
		{name: "the status changed", foreign: active(func(s *simulation) {
			s.setStatus(echoKey, wrongStatus())
		})},
		{name: "the Service changed", foreign: active(func(s *simulation) {
			if o := s.get(serviceKey); o != nil && isOperators(o) {
				s.edit(serviceKey, editPort)
			}
		})},
		{name: "the labels removed", foreign: active(func(s *simulation) {
			removeLabels(deploymentKey)(s)
			enabled, set, _ := unstructured.NestedBool(s.get(echoKey).Object, "spec", "disruptionBudget", "enabled")
			if s.get(budgetKey) != nil && (enabled || !set) { // otherwise, it stays until the Echo is deleted
				removeLabels(budgetKey)(s)
			}
		})},
	}
}

// active limits another client's action to times when an Echo exists and is neither paused nor being deleted.
func active(do func(*simulation)) func(*simulation, call) {
	return func(s *simulation, _ call) {
		o := s.get(echoKey)
		if o == nil || o.GetDeletionTimestamp() != nil || s.ordered {
			return
		}
		if paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); !paused {
			do(s)
		}
	}
}

// replace deletes one of the operator's objects, and creates another client's object with the same name.
func replace(s *simulation, to call) {
	old := s.get(to.objectKey)
	if old == nil || to.resource == "echoes" || metav1.GetControllerOf(old) == nil || len(old.GetFinalizers()) > 0 {
		return
	}
	s.drop(to.objectKey)
	theirs := old.DeepCopy()
	for _, field := range []string{"labels", "ownerReferences", "managedFields", "uid", "finalizers"} {
		unstructured.RemoveNestedField(theirs.Object, "metadata", field)
	}
	s.create(to.objectKey, theirs.Object)
}

// force runs another client's action that would otherwise count as a broken promise.
func (s *simulation) force(do func()) {
	set := func(forced bool) {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.forced = forced
	}
	set(true)
	defer set(false)
	do()
}

func changeAndBack(s *simulation) {
	for _, by := range []int64{1, -1} {
		s.edit(echoKey, func(o map[string]any) {
			spec := o["spec"].(map[string]any)
			spec["replicas"] = spec["replicas"].(int64) + by
		})
	}
}

// createAgain deletes the Echo and creates it again with the same spec.
func createAgain(s *simulation) {
	again := support.Echo("ns", "x")
	convert(s.get(echoKey).Object["spec"], &again.Spec)
	s.force(func() {
		s.edit(echoKey, func(o map[string]any) { delete(o["metadata"].(map[string]any), "finalizers") })
		s.drop(echoKey)
	})
	s.create(echoKey, again)
}

// isForeign reports whether an object exists and the operator did not create it.
func isForeign(o *unstructured.Unstructured) bool {
	return o != nil && !isOperators(o) && metav1.GetControllerOf(o) == nil
}
